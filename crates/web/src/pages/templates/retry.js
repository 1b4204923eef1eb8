(function(){
var note=document.getElementById("retry"),go=document.querySelector("a.main"),key="retry "+location.pathname,tries=0;
try{var last=JSON.parse(sessionStorage.getItem(key));if(last&&Date.now()-last.at<6e5)tries=last.tries}catch(e){}
if(tries>4)return;
var wait=note.dataset.after*1e3*(tries+1);
var timer=setTimeout(function(){try{sessionStorage.setItem(key,JSON.stringify({tries:tries+1,at:Date.now()}))}catch(e){return}location.replace(go.href)},wait+Math.random()*Math.max(5e3,wait/2));
note.hidden=false;
note.querySelector("button").onclick=function(){clearTimeout(timer);note.hidden=true;go.focus()}
})();
