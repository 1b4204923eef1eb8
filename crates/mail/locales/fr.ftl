mail-code-subject = Votre code de connexion
mail-code-lead = Vous vous connectez à { $service }. Saisissez ce code dans la page qui le demande :
mail-code-valid = Le code est valable { $minutes } minutes, dans cette page seulement.
mail-code-warning = Ne donnez jamais ce code à personne. Si vous n’êtes pas en train de vous connecter, ignorez ce message et changez votre mot de passe chez votre fournisseur d’identité : quelqu’un d’autre le connaît.
mail-test-subject = Message d’essai
mail-test = Ceci est un message d’essai de { $hub }. Il n’y a rien à faire.
mail-address-kept = Votre adresse électronique confirmée, chiffrée : { $period } après sa dernière utilisation.
