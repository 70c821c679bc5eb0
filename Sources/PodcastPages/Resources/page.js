'use strict';
const one=(q,r)=>(r||document).querySelector(q),all=(q,r)=>[...(r||document).querySelectorAll(q)];
function make(tag,text,name){
  const made=document.createElement(tag);
  if(text!=null)made.textContent=text;
  if(name)made.className=name;
  return made;
}
function stored(id){const data=one(id);return data?JSON.parse(data.textContent):null}
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
const box=one('.filter');
if(box)box.hidden=false;
document.addEventListener('keydown',e=>{
  if(e.key!=='/'||e.ctrlKey||e.metaKey||/^(input|select|textarea)$/.test(document.activeElement.localName))return;
  const field=one('input[type=search]');
  if(field){e.preventDefault();field.focus()}
});
const list=one('.episodes');
if(list)episodes();
function player(inside){
  const link=one('a[data-player]',inside);
  if(link){
    const frame=make('div',null,'player'),made=document.createElement(link.dataset.player);
    made.controls=true;made.preload='none';made.src=link.href;
    if(link.dataset.at)made.dataset.at=link.dataset.at;
    made.setAttribute('aria-label',link.getAttribute('aria-label')||'Player');
    frame.append(made);
    if(link.dataset.length)frame.append(make('span',link.dataset.length,'length'));
    link.parentElement.replaceWith(frame);
  }
  return one('audio,video',inside);
}
function times(row){
  const notes=one('.notes',row);
  if(!notes||notes.dataset.linked||!one('audio,video',row))return;
  notes.dataset.linked='1';
  const end=Number(notes.dataset.seconds)||Infinity,texts=[],walker=document.createTreeWalker(notes,NodeFilter.SHOW_TEXT);
  while(walker.nextNode())if(!walker.currentNode.parentElement.closest('a'))texts.push(walker.currentNode);
  for(const text of texts){
    const parts=text.data.split(/(?<![\d:.,])((?:\d{1,2}:)?[0-5]?\d:[0-5]\d)(?![\d:]|[.,]\d)/);
    if(parts.length<2)continue;
    text.replaceWith(...parts.map((part,i)=>{
      const start=i%2?part.split(':').reduce((sum,value)=>sum*60+Number(value),0):end;
      if(start>=end)return part;
      const button=make('button',part,'time');
      button.type='button';button.dataset.start=start;
      return button;
    }));
  }
}
function episodes(){
  list.addEventListener('toggle',e=>{if(e.target.open){player(e.target);times(e.target)}},true);
  for(const row of all('details[open]',list))times(row);
  list.addEventListener('click',e=>{
    const button=e.target.closest('button');
    if(!button)return;
    const media=player(button.closest('details'));
    if(!media)return;
    delete media.dataset.at;
    media.wanted=()=>{media.currentTime=Number(button.dataset.start);media.play().catch(()=>{})};
    media.wanted();
  });
  list.addEventListener('loadedmetadata',e=>{
    const length=one('.length',e.target.parentElement);
    if(length)length.remove();
    if(e.target.dataset.at&&e.target.currentTime<1)e.target.currentTime=Number(e.target.dataset.at);
  },true);
  list.addEventListener('play',e=>{
    for(const other of all('audio,video',list))if(other!==e.target&&!other.paused)other.pause();
  },true);
  list.addEventListener('timeupdate',e=>{
    let now=null;
    for(const button of all('.chapters button',e.target.closest('.inside'))){
      button.removeAttribute('aria-current');
      if(Number(button.dataset.start)<=e.target.currentTime+.25)now=button;
    }
    if(now)now.setAttribute('aria-current','true');
  },true);
  const older=stored('#older')||[],rows=new Map(),more=one('.more'),whole=all(':scope>li',list);
  let shown=0,last=-1;
  function row(i){
    if(rows.has(i))return rows.get(i);
    const [id,file,title,day,length,size,flags,at]=older[i];
    const li=make('li'),details=make('details'),summary=make('summary'),facts=make('span',null,'facts');
    const inside=make('div',null,'inside'),href=encodeURIComponent(file),name=title||file.slice(11).replace(/[.][^.]*$/,'');
    li.id='e'+id;
    if(flags&2)li.className='played';
    const heading=make('h3',name);
    heading.dir='auto';
    if(flags&2)heading.append(' ',make('span','✓','mark'),make('span',' played','hidden'));
    facts.append(make('span',day),make('span',length),make('span',size));
    facts.append(flags&1?make('span','downloaded','cached'):make('span','not downloaded','remote'));
    summary.append(heading,facts);
    if(flags&32){
      const art=make('img',null,'own');
      art.loading='lazy';art.alt='';art.width=art.height=192;art.src=href.replace(/[.][^.]*$/,'.jpg');
      inside.append(art);
    }
    if(!(flags&8)){
      const play=make('a','Play'),line=make('p');
      play.href=href;play.dataset.player=flags&4?'video':'audio';play.dataset.length=length;
      play.setAttribute('aria-label',name);
      if(at)play.dataset.at=at;
      line.append(play);inside.append(line);
    }
    const link=make('a','File'),links=make('p',null,'facts line');
    link.href=href;links.append(link);
    if(flags&16){const notes=make('a','Notes');notes.href='.notes/'+href.replace(/[.][^.]*$/,'.html');links.prepend(notes)}
    inside.append(links);details.append(summary,inside);li.append(details);
    rows.set(i,li);
    if(i>last){list.append(li);last=i}
    else list.insertBefore(li,rows.get(Math.min(...[...rows.keys()].filter(key=>key>i))));
    return li;
  }
  function extend(count){
    shown=Math.min(older.length,shown+count);
    for(let i=0;i<shown;i++)row(i).hidden=false;
    if(more){more.hidden=shown===older.length;more.textContent='Show '+Math.min(500,older.length-shown)+' of '+(older.length-shown)+' older episodes'}
  }
  if(more){extend(0);more.addEventListener('click',()=>extend(500))}
  if(box)one('input',box).addEventListener('input',e=>{
    const word=e.target.value.trim().toLowerCase();
    for(const li of whole){
      const words=all('summary>h3,summary>.from',li).map(part=>part.textContent).join(' ');
      li.hidden=word!==''&&!words.toLowerCase().includes(word);
    }
    let found=0;
    older.forEach((entry,i)=>{
      const hit=word!==''&&found<200&&(entry[2]||entry[1].slice(11)).toLowerCase().includes(word);
      if(hit)found++;
      if(hit||rows.has(i))row(i).hidden=word===''?i>=shown:!hit;
    });
    if(more)more.hidden=word!==''||shown===older.length;
  });
  function target(){
    const id=location.hash.slice(1);
    if(!/^e[0-9]+$/.test(id))return;
    const at=older.findIndex(entry=>'e'+entry[0]===id);
    const li=at<0?document.getElementById(id):row(at);
    if(!li)return;
    li.hidden=false;one('details',li).open=true;li.scrollIntoView();
    one('summary',li).focus({preventScroll:true});
  }
  addEventListener('hashchange',target);
  target();
}
const shelf=one('.shelf'),found=one('.found');
if(shelf&&box){
  const titles=stored('#titles')||{shows:[],episodes:[]},tiles=all(':scope>li',shelf);
  one('select',box).addEventListener('change',e=>{
    const key=e.target.value;
    shelf.append(...[...tiles].sort((a,b)=>key==='name'?0:Number(b.dataset[key])-Number(a.dataset[key])));
  });
  one('input',box).addEventListener('input',e=>{
    const word=e.target.value.trim().toLowerCase();
    for(const li of tiles)li.hidden=word!==''&&!li.textContent.toLowerCase().includes(word);
    for(const part of all('.home'))part.hidden=word!=='';
    const hits=word.length<2?[]:titles.episodes.filter(entry=>entry[2].toLowerCase().includes(word)).slice(0,50);
    found.replaceChildren(...hits.map(([show,id,title])=>{
      const li=make('li'),link=make('a',title);
      link.href=encodeURIComponent(titles.shows[show])+'/index.html#e'+id;
      link.append(' ',make('span',titles.shows[show]));
      li.append(link);
      return li;
    }));
    one('.count').textContent=word.length<2?'':hits.length===50?'50 episodes and more':hits.length===1?'1 episode':hits.length+' episodes';
  });
}
const auto=one('#auto');
if(auto){
  auto.closest('p').hidden=false;
  auto.checked=location.hash!=='#paused';
  auto.addEventListener('change',()=>history.replaceState(null,'',auto.checked?' ':'#paused'));
  auto.addEventListener('change',()=>{if(auto.checked)location.replace(location.pathname)});
  setInterval(()=>{if(auto.checked&&!document.hidden)location.reload()},Number(auto.dataset.seconds)*1000);
}
const due=one('[data-due]');
if(due){
  const tries=(history.state||{}).tries||0,isUsed=()=>document.hidden||getSelection().toString()
    ||all('audio,video').some(media=>!media.paused)||all('input[type=search]').some(input=>input.value);
  const renew=()=>{if(isUsed())return setTimeout(renew,2000);history.replaceState({tries:tries+1},'');location.reload()};
  if(tries<20)setTimeout(renew,Math.min(60,2*1.5**tries)*1000);
}
