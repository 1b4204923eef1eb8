mail-code-subject = Codul dumneavoastră de conectare
mail-code-lead = Vă conectați la { $service }. Scrieți acest cod în pagina care îl cere:
mail-code-valid = Codul este valabil { $minutes } minute, numai în acea pagină.
mail-code-warning = Nu dați nimănui acest cod. Dacă nu vă conectați acum, ignorați acest mesaj și schimbați parola la furnizorul dumneavoastră de identitate: altcineva o cunoaște.
mail-test-subject = Mesaj de test
mail-test = Acesta este un mesaj de test de la { $hub }. Nu trebuie să faceți nimic.
mail-address-kept = Adresa dumneavoastră de e-mail confirmată, criptată: { $period } după ultima utilizare.
