/// The common parts of all pages: style sheet, scripts and Content Security Policy.
enum PageStyle {
    // MARK: Policies

    /// The policy of a page without scripts: allows only `sheet` and images from files.
    ///
    /// In Chromium `'self'` matches files beside the page; browsers that treat every file as an origin of its own need
    /// `file:`. `base-uri` and `form-action` are set separately because `default-src` does not cover them (CSP Level 3,
    /// 6.3).
    static let policy =
        "default-src 'none'; img-src 'self' file:; style-src '\(sheetHash)'; base-uri 'none'; form-action 'none'"

    /// The policy of a page with art: `policy`, and the script `retry`.
    static let policyWithArt = policy + "; script-src '\(retryHash)'"
    /// The policy of a page with players: `policy`, media from files, and the scripts `retry` and `script`.
    static let policyWithPlayers = policy + "; media-src 'self' file:; script-src '\(retryHash)' '\(scriptHash)'"

    /// SHA-256 of `sheet`, `retry` and `script`, in the format of a policy (CSP Level 3, 2.3.1).
    static let sheetHash = "sha256-pSKW86zRjeRsxS6WOtG80sQFr1X4FCE6Ko8aiH+B+5w="
    static let retryHash = "sha256-qiTVzHr3RnO6RiB9GreWBZWOg+jnqo7Gztaz+rGmRyY="
    static let scriptHash = "sha256-TxIo/ZCQuyNKd/Li6sbWdoOsPnkhU/8CbHtIbS6e33k="

    // MARK: Style sheet

    static let sheet = """
        :root{color-scheme:light dark;--ground:#fdfdfb;--ink:#1d1d1b;--dim:#686761;--line:#e5e4de;--fill:#f2f1ec;\
        --accent:#2c6e4f;--bad:#a8321f}
        @media(prefers-color-scheme:dark){:root{--ground:#171716;--ink:#ebeae5;--dim:#a09e97;--line:#302f2c;\
        --fill:#222120;--accent:#83c8a3;--bad:#f0937f}}
        *{box-sizing:border-box}
        body{margin:0 auto;max-width:66rem;padding:1.5rem 1.25rem 4rem;background:var(--ground);color:var(--ink);\
        font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
        h1,h2,p,ol,ul,figure{margin:0;padding:0}
        h1{font-size:1.75rem;line-height:1.2;font-weight:650;letter-spacing:-.01em}
        h2{font-size:1rem;line-height:1.4;font-weight:600}
        ol,ul{list-style:none}
        a{color:inherit;text-decoration-color:var(--line);text-underline-offset:.2em}
        a:hover{text-decoration-color:currentcolor}
        :focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:2px}
        nav,.facts{color:var(--dim);font-size:.875rem;font-variant-numeric:tabular-nums}
        nav{margin-bottom:1.75rem}
        nav,.line{display:flex;flex-wrap:wrap;column-gap:1.25em}
        .line{margin-top:.5rem}
        .facts>*{white-space:nowrap;max-width:100%;overflow:hidden;text-overflow:ellipsis}
        .facts.bad{color:var(--bad)}
        .none{color:var(--dim);padding:3rem 0}
        .art{position:relative;display:grid;place-items:center;aspect-ratio:1;border-radius:.5rem;overflow:hidden;\
        background:var(--fill);color:var(--dim);font-size:2.5rem;font-weight:300}
        .art img{position:absolute;inset:0;width:100%;height:100%;object-fit:cover}
        .shelf{display:grid;grid-template-columns:repeat(auto-fill,minmax(10rem,1fr));gap:1.75rem 1.5rem;\
        margin-top:2rem}
        .shelf li{content-visibility:auto;contain-intrinsic-size:auto 15rem}
        .shelf a{display:block;text-decoration:none}
        .shelf h2{margin-top:.625rem;font-size:.9375rem;line-height:1.35;overflow-wrap:break-word;display:-webkit-box;-webkit-box-orient:vertical;\
        -webkit-line-clamp:2;overflow:hidden}
        .shelf a:hover h2{text-decoration:underline}
        .shelf .facts{margin-top:.125rem;line-height:1.4}
        .shelf .facts>*{display:block}
        .head{display:grid;grid-template-columns:12rem 1fr;gap:2rem;align-items:start}
        .by{color:var(--dim);margin-top:.25rem}
        .about{margin-top:.875rem;max-width:42rem}
        .about>*,.notes>*{margin:0 0 .75rem}
        .about>:last-child,.notes>:last-child{margin-bottom:0}
        .filter{margin-top:2.5rem}
        .filter input{width:100%;max-width:22rem;padding:.45rem .75rem;border:1px solid var(--line);\
        border-radius:.5rem;background:none;color:inherit;font:inherit}
        .episodes{margin-top:2rem;border-top:1px solid var(--line)}
        .filter+.episodes{margin-top:1rem}
        .episodes>li{border-bottom:1px solid var(--line);content-visibility:auto;contain-intrinsic-size:auto 3.1rem}
        summary{display:grid;grid-template-columns:.5rem 1fr 6.5rem 4rem 5.5rem 3.75rem;column-gap:.875rem;align-items:baseline;\
        padding:.75rem 0;cursor:pointer;list-style:none}
        summary::-webkit-details-marker{display:none}
        summary::before{content:"›";color:var(--dim);line-height:1}
        details[open]>summary::before{transform:rotate(90deg)}
        summary:hover h2{text-decoration:underline;text-decoration-color:var(--line);text-underline-offset:.2em}
        summary .facts{display:contents}
        summary .facts>*{text-align:end;color:var(--dim);white-space:nowrap}
        summary .facts>.cached{color:var(--accent);font-weight:600}
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
        @media(max-width:44rem){
        body{padding:1rem 1rem 3rem}
        h1{font-size:1.5rem}
        .head{grid-template-columns:6rem 1fr;gap:1rem}
        .about,.head .facts{grid-column:1/-1}
        .head>div:last-child{display:contents}
        .name{align-self:center}
        summary{display:block}
        summary::before{content:none}
        .inside{padding-left:0}
        summary .facts>:empty{display:none}
        summary .facts{display:flex;flex-wrap:wrap;column-gap:1em;margin-top:.125rem}
        .shelf{grid-template-columns:repeat(auto-fill,minmax(8rem,1fr));gap:1.25rem 1rem}
        }
        """

    // MARK: Scripts

    /// Reloads an image or a recording once after an error: a file is fetched when it is first opened, and the browser
    /// may have read its size before that, as 0. An image that fails again is removed, which reveals the letter below.
    static let retry = """
        'use strict';
        function again(e){
        const lost=e.target;
        if(!lost.dataset||!('src' in lost))return;
        if(lost.dataset.again){if(lost.localName==='img')lost.remove();return}
        const isPlaying=lost.paused===false;
        lost.dataset.again='1';
        lost.src=lost.src;
        if(lost.wanted)lost.wanted();else if(isPlaying)lost.play().catch(()=>{});
        }
        document.addEventListener('error',again,true);
        for(const image of document.images)if(image.complete&&!image.naturalWidth)again({target:image});
        """

    /// The script of a show's page. Plays from a chapter when it is clicked, and marks the current one; pauses the
    /// other players when one starts; filters the list of episodes; and creates the players of the episodes beyond
    /// `ShowPage.playerLimit` when their details are opened.
    static let script = """
        const list=document.querySelector('.episodes'),box=document.querySelector('.filter');
        function player(inside){
        const link=inside.querySelector('a[data-player]');
        if(link){
        const made=document.createElement(link.dataset.player);
        made.controls=true;made.preload='none';made.src=link.href;
        link.parentElement.replaceWith(made);
        }
        return inside.querySelector('audio,video');
        }
        list.addEventListener('toggle',e=>{if(e.target.open)player(e.target)},true);
        list.addEventListener('click',e=>{
        const button=e.target.closest('button');
        if(!button)return;
        const media=player(button.closest('details'));
        if(!media)return;
        media.wanted=()=>{media.currentTime=Number(button.dataset.start);media.play().catch(()=>{})};
        media.wanted();
        });
        list.addEventListener('play',e=>{
        for(const other of list.querySelectorAll('audio,video'))if(other!==e.target&&!other.paused)other.pause();
        },true);
        list.addEventListener('timeupdate',e=>{
        let now=null;
        for(const button of e.target.parentElement.querySelectorAll('button')){
        button.removeAttribute('aria-current');
        if(Number(button.dataset.start)<=e.target.currentTime+.25)now=button;
        }
        if(now)now.setAttribute('aria-current','true');
        },true);
        if(box){
        box.hidden=false;
        box.firstElementChild.addEventListener('input',e=>{
        const word=e.target.value.trim().toLowerCase();
        for(const row of list.children)row.hidden=!row.querySelector('h2').textContent.toLowerCase().includes(word);
        });
        }
        """
}
