(function(){
var form=document.getElementById("digital-credential"),protocol="openid4vp-v1-signed",api=window.DigitalCredential;
if(!api||!navigator.credentials||(api.userAgentAllowsProtocol&&!api.userAgentAllowsProtocol(protocol)))return;
var button=form.querySelector("button"),note=form.querySelector(".note");
form.hidden=false;
button.onclick=function(){
button.disabled=true;note.hidden=true;
navigator.credentials.get({mediation:"required",digital:{requests:[{protocol:protocol,data:{request:form.dataset.request}}]}}).then(function(credential){
var data=typeof credential.data==="string"?JSON.parse(credential.data):credential.data;
form.elements.response.value=data.response||"";
form.elements.error.value=data.response?"":data.error||"server_error";
form.submit();
}).catch(function(){note.hidden=false}).then(function(){button.disabled=false});
};
})();
