mail-code-subject = Codul dumneavoastră de autentificare
mail-code-lead = Vă autentificați la „{ $service }”. Introduceți acest cod în pagina care îl cere:
mail-code-valid = { $minutes ->
    [one] Codul este valabil un minut, numai în acea pagină.
    [few] Codul este valabil { $minutes } minute, numai în acea pagină.
   *[other] Codul este valabil { $minutes } de minute, numai în acea pagină.
}
mail-code-warning = Nu comunicați nimănui acest cod. Dacă nu vă autentificați dumneavoastră acum, ignorați acest e-mail și schimbați parola la organizația care administrează contul: altcineva o cunoaște.
mail-test-subject = E-mail de test
mail-test = Acesta este un e-mail de test de la „{ $hub }”. Nu trebuie să faceți nimic.
mail-address-kept = Adresa dumneavoastră de e-mail confirmată, criptată: { $period } de la ultima utilizare.
