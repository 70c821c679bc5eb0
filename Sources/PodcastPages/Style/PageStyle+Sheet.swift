extension PageStyle {
    /// The style sheet of all pages. It supports light and dark color schemes, and widths from 320 pixels.
    static let sheet = """
        :root{color-scheme:light dark;--ground:#fdfdfb;--ink:#1d1d1b;--dim:#686761;--line:#e5e4de;--edge:#8b8a83;--fill:#f2f1ec;\
        --accent:#2c6e4f;--bad:#a8321f}
        @media(prefers-color-scheme:dark){:root{--ground:#171716;--ink:#ebeae5;--dim:#a09e97;--line:#302f2c;\
        --edge:#7d7b75;--fill:#222120;--accent:#83c8a3;--bad:#f0937f}}
        *{box-sizing:border-box}
        ::placeholder{color:var(--dim);opacity:1}
        [hidden]{display:none!important}
        .filter{display:flex;flex-wrap:wrap;gap:.75rem;align-items:center}
        body{margin:0 auto;max-width:66rem;padding:1.5rem 1.25rem 4rem;background:var(--ground);color:var(--ink);\
        font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
        h1,h2,p,ol,ul,figure{margin:0;padding:0}
        h1{font-size:1.75rem;line-height:1.2;font-weight:650;letter-spacing:-.01em}
        h2{font-size:1rem;line-height:1.4;font-weight:600}
        ol,ul{list-style:none}
        a{color:inherit;text-decoration-color:var(--line);text-underline-offset:.2em}
        a:hover{text-decoration-color:currentcolor}
        :focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:2px}
        h3{font-size:inherit;font-weight:600;margin:0}
        .hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
        nav,.facts{color:var(--dim);font-size:.875rem;font-variant-numeric:tabular-nums}
        nav{margin-bottom:1.75rem}
        nav,.line{display:flex;flex-wrap:wrap;column-gap:1.25em}
        nav a{padding:.25rem 0;text-decoration:none}
        nav a:hover{text-decoration:underline}
        nav [aria-current]{color:var(--ink);font-weight:600;text-decoration:underline;text-underline-offset:.4em}
        .line{margin-top:.5rem}
        .facts>*{white-space:nowrap;max-width:100%;overflow:hidden;text-overflow:ellipsis}
        .facts.bad{color:var(--bad)}
        .none{color:var(--dim);padding:3rem 0}
        .art{position:relative;display:grid;place-items:center;aspect-ratio:1;border-radius:.5rem;overflow:hidden;\
        background:var(--fill);color:var(--dim);font-size:2.5rem;font-weight:300}
        .tint{color:#fff;font-weight:400}
        .t0{background:#7a3b3b}.t1{background:#7a5230}.t2{background:#6b6125}.t3{background:#4a6a2c}
        .t4{background:#2c6e4f}.t5{background:#23696b}.t6{background:#2c5f85}.t7{background:#3f5296}
        .t8{background:#5b4a94}.t9{background:#7a4186}.t10{background:#8a3f6a}.t11{background:#5a5a55}
        .art img{position:absolute;inset:0;width:100%;height:100%;object-fit:cover}
        .shelf{display:grid;grid-template-columns:repeat(auto-fill,minmax(10rem,1fr));gap:1.75rem 1.5rem;\
        margin-top:2rem}
        .shelf li{content-visibility:auto;contain-intrinsic-size:auto 15rem}
        .shelf a{display:block;text-decoration:none}
        .shelf .art{position:relative}
        .bar{display:flex;flex-wrap:wrap;gap:.75rem;align-items:center;margin-top:1.75rem}
        .bar h2{margin-right:auto;font-size:1.125rem}
        input[type=search],select{padding:.45rem .75rem;border:1px solid var(--edge);border-radius:.5rem;\
        background:var(--ground);color:inherit;font:inherit;max-width:100%}
        input[type=search]{width:22rem}
        .cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(19rem,100%),1fr));gap:.75rem 1.5rem;\
        margin-top:.875rem}
        .views{display:flex;flex-wrap:wrap;gap:.5rem;margin-top:.875rem}
        .views a{display:block;padding:.3125rem .875rem;border:1px solid var(--line);border-radius:1.25rem;\
        font-size:.9375rem;text-decoration:none}
        .views a:hover{background:var(--fill)}
        .views .facts{margin-left:.375em}
        .cards li{display:grid;grid-template-columns:3.5rem 1fr;gap:.875rem;align-items:center}
        .cards .art{font-size:1.375rem;border-radius:.375rem}
        .cards a{text-decoration:none}
        .cards a:hover{text-decoration:underline}
        .cards h3{font-size:.9375rem;line-height:1.35;overflow:hidden;display:-webkit-box;-webkit-box-orient:vertical;\
        -webkit-line-clamp:2}
        .cards .facts>*{display:inline-block;margin-right:.75em;vertical-align:bottom}
        .found a{display:block;padding:.375rem 0;border-bottom:1px solid var(--line);text-decoration:none}
        .found a:hover{text-decoration:underline}
        .found span{color:var(--dim);font-size:.875rem}
        section{margin-top:2.25rem}
        section>h2{font-size:1.125rem}
        .shelf h3{margin-top:.625rem;font-size:.9375rem;line-height:1.35;overflow-wrap:break-word;display:-webkit-box;-webkit-box-orient:vertical;\
        -webkit-line-clamp:2;overflow:hidden}
        .shelf a:hover h3{text-decoration:underline}
        .shelf .facts{margin-top:.125rem;line-height:1.4}
        .shelf .facts>*{display:block}
        .head{display:grid;grid-template-columns:12rem 1fr;gap:2rem;align-items:start}
        .by{color:var(--dim);margin-top:.25rem}
        .about{margin-top:.875rem;max-width:42rem}
        .about>*,.notes>*{margin:0 0 .75rem}
        .about>:last-child,.notes>:last-child{margin-bottom:0}
        .episodes{border-top:1px solid var(--line)}
        .episodes,.found{margin-top:1rem}
        .season{padding:1.5rem 0 .5rem}
        .season h2{font-size:1.125rem}
        .episodes>li{border-bottom:1px solid var(--line);content-visibility:auto;contain-intrinsic-size:auto 3.1rem}
        summary{display:grid;grid-template-columns:.5rem 1fr 6.5rem 4rem 5.5rem 7.5rem;column-gap:.875rem;align-items:baseline;\
        padding:.75rem 0;cursor:pointer;list-style:none}
        summary::-webkit-details-marker{display:none}
        summary::before{content:"›";color:var(--dim);line-height:1}
        details[open]>summary::before{transform:rotate(90deg)}
        summary:hover h3{text-decoration:underline;text-decoration-color:var(--line);text-underline-offset:.2em}
        summary .facts{display:contents}
        summary .facts>*{text-align:end;color:var(--dim);white-space:nowrap}
        summary .facts>.cached{color:var(--accent);font-weight:600}
        .view summary{grid-template-columns:.5rem 2.75rem 1fr 6.5rem 6rem 7.5rem;align-items:center}
        .view summary::before,.view summary>.art,.view summary .facts>*{grid-row:1/span 3}
        .view summary>.art{font-size:1.125rem;border-radius:.375rem}
        .view summary h3,.from,.view summary progress{grid-column:3}
        .view summary::before{grid-column:1}
        .view summary>.art{grid-column:2}
        .view summary .facts>:nth-child(1){grid-column:4}
        .view summary .facts>:nth-child(2){grid-column:5}
        .view summary .facts>:nth-child(3){grid-column:6}
        .view .episodes>li{contain-intrinsic-size:auto 4.4rem}
        .view .inside{padding-left:5rem}
        .from{color:var(--dim);font-size:.875rem}
        .played h3{color:var(--dim);font-weight:400}
        .mark{color:var(--accent)}
        summary progress{grid-column:2/-1;max-width:16rem}
        .player{display:grid;grid-template-columns:1fr auto;gap:.75rem;align-items:center}
        .length{color:var(--dim);font-size:.875rem;font-variant-numeric:tabular-nums}
        label.facts{display:block;margin-top:.75rem}
        .address{display:block;width:100%;max-width:32rem;margin-top:.25rem;padding:.35rem .6rem;border:1px solid var(--line);\
        border-radius:.375rem;background:var(--fill);color:inherit;font:.875rem ui-monospace,monospace}
        .more{justify-content:center;display:block;width:auto;margin:1rem auto;padding:.5rem 1.25rem;\
        border:1px solid var(--edge);text-align:center}
        .inside{padding:.25rem 0 1.75rem 1.375rem;max-width:48rem}
        audio{display:block;width:100%;height:2.75rem}
        video{display:block;width:100%;max-height:70vh;background:#000}
        .chapters{margin-top:1rem;columns:2 18rem;column-gap:1.5rem}
        .chapters li{break-inside:avoid}
        button{display:grid;grid-template-columns:4.25rem 1fr;width:100%;padding:.25rem .5rem;border:0;\
        border-radius:.375rem;background:none;color:inherit;font:inherit;font-size:.9375rem;text-align:start;cursor:pointer}
        button:hover{background:var(--fill)}
        button span:first-child{color:var(--dim);font-variant-numeric:tabular-nums}
        [aria-current] span{color:var(--accent)!important}
        .notes{margin-top:1.25rem}
        .notes h1,.notes h2,.notes h3,.notes h4,.notes h5,.notes h6{font-size:1rem;font-weight:650}
        .notes ul,.about ul{list-style:disc;padding-inline-start:1.25rem}
        .notes ol,.about ol{list-style:decimal;padding-inline-start:1.5rem}
        .notes blockquote{padding-inline-start:1rem;border-inline-start:2px solid var(--line);margin-inline:0}
        .notes pre{white-space:pre-wrap}
        .notes table{border-collapse:collapse}
        .notes td,.notes th{border:1px solid var(--line);padding:.2em .5em}
        .plot{margin-top:1.5rem}
        .plot strong{display:block;color:var(--ink);font-size:2rem;line-height:1.2;font-weight:300;letter-spacing:-.02em}
        svg{display:block;width:100%;height:5rem;margin-top:.5rem;border-bottom:1px solid var(--line)}
        .axis{display:flex;justify-content:space-between;color:var(--dim);font-size:.75rem;margin-top:.25rem}
        .grid{stroke:var(--line);stroke-width:1;vector-effect:non-scaling-stroke}
        .scale{position:relative}
        .scale span{position:absolute;left:0;color:var(--dim);font-size:.75rem;background:var(--ground);padding:0 .25rem;\
        transform:translateY(-50%)}
        .scale .top{top:.5rem}.scale .half{top:50%}
        .recent li{padding:.5rem 0;border-bottom:1px solid var(--line)}
        label{display:inline-flex;gap:.5rem;align-items:center}
        .area{fill:var(--accent);opacity:.14}
        .curve{fill:none;stroke:var(--accent);stroke-width:1.5;vector-effect:non-scaling-stroke;stroke-linejoin:round}
        .tasks{margin-top:2rem}
        .tasks>li{padding:.875rem 0;border-bottom:1px solid var(--line);content-visibility:auto;\
        contain-intrinsic-size:auto 5.5rem}
        .tasks h2 a{text-decoration:none}
        .tasks h2 a:hover{text-decoration:underline}
        progress{-webkit-appearance:none;appearance:none;display:block;width:100%;height:.375rem;margin:.5rem 0 .375rem;\
        border:0;border-radius:.1875rem;overflow:hidden;background:var(--fill)}
        progress::-webkit-progress-bar{background:var(--fill)}
        progress::-webkit-progress-value{background:var(--accent)}
        progress::-moz-progress-bar{background:var(--accent)}
        .queued progress::-webkit-progress-value,.suspended progress::-webkit-progress-value{background:var(--dim)}
        .queued progress::-moz-progress-bar,.suspended progress::-moz-progress-bar{background:var(--dim)}
        .failed progress::-webkit-progress-value{background:var(--bad)}
        .failed progress::-moz-progress-bar{background:var(--bad)}
        .tasks .facts{display:flex;flex-wrap:wrap;column-gap:1.25em}
        .back{margin-bottom:1.25rem}
        .notes.whole{max-width:42rem}
        @media(min-width:90rem){body{max-width:84rem}.cards{grid-template-columns:repeat(3,1fr)}.shelf{grid-template-columns:repeat(auto-fill,minmax(11rem,1fr))}}
        @media(max-width:44rem){
        body{padding:1rem 1rem 3rem}
        h1{font-size:1.5rem}
        .head{grid-template-columns:6rem 1fr;gap:1rem}
        .about,.head .facts{grid-column:1/-1}
        .head>div:last-child{display:contents}
        .name{align-self:center}
        summary{display:block}
        summary progress{max-width:none}
        .bar h2,.filter{width:100%}
        .bar input{flex:1 1 100%}
        .bar select{flex:1 1 9rem;min-width:0}
        summary::before{content:none}
        .inside{padding-left:0}
        summary .facts>:empty{display:none}
        summary .facts{display:flex;flex-wrap:wrap;column-gap:1em;margin-top:.125rem}
        .view summary{display:grid;grid-template-columns:3.5rem 1fr}
        .view summary>.art{grid-area:1/1/span 4;align-self:start}
        .view summary h3,.from,.view summary .facts,.view summary progress{grid-column:2}
        .view .remote{display:none}
        .view .inside{padding-left:0}
        .shelf{grid-template-columns:repeat(auto-fill,minmax(8rem,1fr));gap:1.25rem 1rem}
        }
        """
}
