(function(){
var button=document.getElementById("show"),field=document.getElementById("password"),other=button.dataset.hide;
button.hidden=false;
button.onclick=function(){var text=button.textContent;button.textContent=other;other=text;field.type=field.type==="password"?"text":"password"};
field.form.addEventListener("submit",function(){field.type="password"});
})();
