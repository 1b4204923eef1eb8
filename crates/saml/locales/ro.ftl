saml-send-title = Către contul dumneavoastră
saml-send-lead = Mergeți la „{ $provider }” pentru a vă autentifica. Dacă nu se întâmplă nimic, folosiți butonul.
saml-send-go = Continuați
