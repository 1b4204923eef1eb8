addEventListener("submit",function(e){var f=e.target;if(f.method!=="post")return;if(f.dataset.sent){e.preventDefault();return}f.dataset.sent="1";setTimeout(function(){delete f.dataset.sent},8000)});
addEventListener("pageshow",function(){document.querySelectorAll("[data-sent]").forEach(function(f){delete f.dataset.sent})});
