mail-code-subject = Votre code de connexion
mail-code-lead = Vous vous connectez à « { $service } ». Saisissez ce code sur la page qui le demande :
mail-code-valid = { $minutes ->
    [one] Le code est valable une minute, sur cette page seulement.
   *[other] Le code est valable { $minutes } minutes, sur cette page seulement.
}
mail-code-warning = Ne communiquez ce code à personne. Si vous n’êtes pas en train de vous connecter, ignorez ce courriel et changez votre mot de passe auprès de l’organisme de votre compte : quelqu’un d’autre le connaît.
mail-test-subject = Courriel de test
mail-test = Ceci est un courriel de test de « { $hub } ». Vous n’avez rien à faire.
mail-address-kept = Votre adresse électronique confirmée, chiffrée : { $period } après sa dernière utilisation.
