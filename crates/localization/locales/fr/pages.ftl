### Ce que lit une personne. Phrases courtes, aucun mot de protocole.
### Un mot pour une chose : « service » (qui demande), « compte » (avec quoi l’on se connecte),
### « organisme » (qui gère le compte), « connexion ».

footer-label = Liens utiles
language-name = Français
language-label = Langue
language-go = Changer de langue

## Dates

month-1 = janvier
month-2 = février
month-3 = mars
month-4 = avril
month-5 = mai
month-6 = juin
month-7 = juillet
month-8 = août
month-9 = septembre
month-10 = octobre
month-11 = novembre
month-12 = décembre
date-day = { $day ->
    [1] 1er { $month } { $year }
   *[other] { $day } { $month } { $year }
}
date-month = { $month } { $year } (jour inconnu)
date-year = { $year } (jour et mois inconnus)
date-time = { $date } à { $time } (temps universel)

## Choix du compte

choice-title = Choisissez un compte
choice-title-service = Connexion à « { $service } »
choice-lead = Choisissez le compte que vous voulez utiliser.
site-line = « { $hub } » vous permet de vous connecter à des services avec un compte que vous avez déjà.
choice-asks = « { $service } » vous demande de vous connecter.
level-eidas1 = Votre compte habituel suffit.
level-eidas2 = Ce service demande une connexion renforcée : deux preuves, par exemple un mot de passe et votre téléphone.
level-eidas3 = Ce service demande la connexion la plus sûre, par exemple avec une carte d’identité électronique.
choice-accounts = Comptes disponibles
choice-banner = La connexion avec « { $provider } » n’a pas abouti.
choice-stopped = La connexion avec « { $provider } » a été arrêtée.
choice-stopped-next = Rien n’a été transmis au service. Choisissez à nouveau ce compte, ou un autre.
choice-less-safe = La connexion avec « { $provider } » n’était pas assez sûre pour ce service.
choice-less-safe-next = Rien n’a été transmis au service. Choisissez un autre compte, ou à nouveau celui-ci avec une méthode de connexion plus sûre, s’il en propose une.
choice-not-me = Vous avez indiqué que ce n’était pas vous. Rien n’a été transmis au service.
choice-not-me-next = « { $provider } » peut encore se souvenir de l’autre personne : si son nom réapparaît, déconnectez-vous chez « { $provider } », puis revenez.
choice-search = Chercher un compte par son nom
choice-search-go = Chercher
choice-found-none = Aucun compte disponible ne correspond à « { $query } ».
choice-show-all = Voir tous les comptes
choice-total = { $total } comptes sont disponibles. Cherchez le vôtre par son nom.
choice-range = Comptes { $first } à { $last } sur { $total }
choice-found = { $total ->
    [one] { $total } compte trouvé
   *[other] { $total } comptes trouvés
}
choice-email = Adresse électronique
choice-email-use = Seule la partie après le @ sert, pour trouver où vous vous connectez. L’adresse n’est pas conservée.
choice-email-go = Continuer
choice-email-list = Choisir plutôt dans la liste
choice-email-again = Saisir plutôt une adresse électronique
choice-email-malformed = Saisissez une adresse électronique complète, par exemple nom@example.org.
choice-email-found = Comptes pour les adresses en « { $domain } » :
choice-email-unknown = Aucun compte n’est prévu pour les adresses en « { $domain } ». Choisissez-en un dans la liste.
choice-last-used = Votre dernier compte
choice-forget = Ne pas retenir ce compte
choice-others = Autres comptes
choice-see-category = { $category } : voir les { $total } comptes
choice-letters = Comptes par première lettre
choice-pages = Pages de la liste
choice-previous = Comptes précédents
choice-next = Comptes suivants
choice-none = Aucun compte n’est disponible pour le moment.
choice-no-account = Je n’ai aucun de ces comptes
choice-unavailable = Indisponibles pour l’instant
choice-recent-trouble = A eu un problème à l’instant
choice-unavailable-more = { $total ->
    [one] Et { $total } autre : cherchez son nom pour savoir pourquoi.
   *[other] Et { $total } autres : cherchez un nom pour savoir pourquoi.
}
choice-cancel = Annuler et revenir à « { $service } »
why-too-low = Connexion pas assez sûre pour ce service
why-no-reauthentication = Ne peut pas vous demander de vous connecter de nouveau, alors que ce service l’exige
why-not-for-service = Ne peut pas servir pour ce service
why-in-trouble = En panne en ce moment
why-off = Fermé en ce moment
why-blocked = Suspendu en ce moment

## Saisie d’un mot de passe, pour un compte dont l’organisme n’a pas de page à lui

sign-in-title = Se connecter avec « { $provider } »
sign-in-username = Nom d’utilisateur
sign-in-password = Mot de passe
sign-in-show = Afficher le mot de passe
sign-in-hide = Masquer le mot de passe
sign-in-forgotten = J’ai oublié mon mot de passe
sign-in-whose = Tapez le mot de passe que vous utilisez chez « { $provider } », et aucun autre. Il y est vérifié, et n’est conservé nulle part ici.
sign-in-go = Se connecter
sign-in-other = Choisir un autre compte
sign-in-empty = Tapez votre nom d’utilisateur et votre mot de passe.
sign-in-wrong = Le nom d’utilisateur ou le mot de passe est incorrect, ou le compte est bloqué pour un moment.
sign-in-last = Il vous reste un essai. S’il est incorrect aussi, vous devrez attendre avant le suivant.
sign-in-wait = { $minutes ->
    [one] Il y a eu trop d’essais incorrects. Attendez une minute, puis réessayez.
   *[other] Il y a eu trop d’essais incorrects. Attendez { $minutes } minutes, puis réessayez.
}
sign-in-new-password = Choisir un nouveau mot de passe
password-title = Votre mot de passe
password-must-change = Votre mot de passe est accepté, mais vous devez le changer.
password-sign-ins-left = Votre mot de passe a expiré. Changez-le maintenant. Nombre de connexions encore possibles : { $count }.
password-expires = Votre mot de passe expire bientôt. Changez-le à temps. Jours restants : { $days }.
password-where = Vous pouvez le changer auprès de « { $provider } ».

## Un code par courriel

mail-page-title = Saisissez le code envoyé par courriel
mail-page-sent = Nous avons envoyé un code à { $address }. Il est valable dix minutes.
mail-page-why = « { $service } » demande ce code en plus de votre mot de passe.
mail-page-code = Code à six chiffres
mail-page-go = Continuer
mail-page-wrong = Ce code est incorrect. Essais restants : { $count }.
mail-page-expired = Ce code n’est plus valable. Demandez-en un autre.
mail-page-missing = Aucun courriel au bout d’une minute ? Regardez aussi dans le courrier indésirable, ou demandez un autre code.
mail-page-resend = Envoyer un autre code
mail-page-reload = Vous pourrez demander un autre code dans une minute : rechargez alors la page
mail-page-unreadable = Je n’ai pas accès à cette messagerie

## Informations transmises

inform-title = Vos informations pour ce service
inform-lead = « { $service } » va recevoir :
inform-why = « { $service } » demande ces informations pour savoir qui vous êtes. Rien n’est envoyé avant que vous ne continuiez.
inform-go = Continuer vers « { $service } »
inform-cancel = Ne pas continuer
consent-title = Acceptez-vous de transmettre ces informations ?
consent-lead = « { $service } » demande à recevoir :
consent-yes = Oui, j’accepte
consent-no = Non, je refuse
consent-person = Vous vous connectez en tant que
consent-not-me = Ce n’est pas moi
consent-pseudonym = « { $service } » ne recevra ni votre nom, ni aucune autre information. Il recevra seulement un numéro propre à ce service, pour vous reconnaître la prochaine fois.
consent-source-register = Ces informations viennent du registre national et de votre compte « { $provider } ».
consent-source-provider = Ces informations viennent de votre compte « { $provider } ».
consent-account = Vous êtes connecté avec votre compte « { $provider } ».
consent-offline = « { $service } » pourra aussi les recevoir à nouveau plus tard, en votre absence.
value-none = non renseigné
value-code = code { $code }
country-99100 = France
claim-given-names = Prénoms
claim-family-name = Nom de naissance
claim-birthdate = Date de naissance
claim-gender = Sexe
claim-birthplace = Lieu de naissance
claim-birthcountry = Pays de naissance
claim-preferred-username = Nom d’usage
claim-email = Adresse électronique
claim-name = Nom complet
claim-middle-name = Deuxième nom
claim-nickname = Surnom
claim-profile = Page de profil
claim-picture = Photo
claim-website = Site web
claim-zoneinfo = Fuseau horaire
claim-locale = Langue
claim-updated-at = Dernière modification du profil
claim-email-verified = Adresse électronique vérifiée
claim-phone-number = Numéro de téléphone
claim-phone-number-verified = Numéro de téléphone vérifié
claim-address = Adresse postale
value-yes = Oui
value-no = Non
gender-female = femme
gender-male = homme
gender-unspecified = non précisé

## Erreurs : ce qui s’est passé

error-bad-request = La demande du service n’est pas correcte.
error-not-found = Cette page n’existe pas.
error-method = Cette page ne peut pas être utilisée ainsi.
error-timeout = La demande a mis trop de temps à arriver.
error-too-large = La demande est trop volumineuse.
error-unknown-host = Cette adresse n’est pas la bonne.
error-internal = Une erreur s’est produite chez nous.
error-unavailable = Notre service est indisponible un court instant.
error-busy = Trop de personnes se connectent en ce moment.
error-network-limited = Trop de connexions ont été demandées depuis votre réseau en une minute.
error-service-limited = Ce service a demandé trop de connexions en une minute.
error-register = Le registre national n’a pas pu confirmer votre identité.
error-register-unavailable = Le registre national ne répond pas.
error-identity-incomplete = Il manque une information obligatoire dans votre compte.
error-identity-malformed = Une information de votre compte n’est pas lisible.
error-idp-unavailable = Ce compte ne peut pas être utilisé.
error-idp-trouble = L’organisme de ce compte a un problème technique.
error-hub-clock = L’horloge de ce site de connexion est déréglée : vous ne pouvez pas vous connecter pour le moment. Son exploitant doit la corriger.
error-idp-busy = Trop de personnes utilisent ce compte en ce moment.
error-idp-denied = La connexion a été interrompue avant la fin.
error-password-change = Votre mot de passe est correct, mais vous devez le changer avant de pouvoir vous connecter ici.
error-account-disabled = Votre mot de passe est correct, mais ce compte est fermé ou a expiré. Adressez-vous à l’organisme de ce compte.
error-account-hours = Votre mot de passe est correct, mais ce compte ne peut pas être utilisé à cette heure. Réessayez plus tard, ou adressez-vous à l’organisme de ce compte.
error-account-not-permitted = Votre mot de passe est correct, mais ce compte n’est pas autorisé à se connecter ici. Adressez-vous à l’organisme de ce compte.
error-account-refused = Votre mot de passe n’a pas été vérifié, car ce compte ne peut pas être utilisé : il est peut-être bloqué ou fermé. Adressez-vous à l’organisme de ce compte.
error-assurance = La connexion n’est pas assez sûre pour ce service.
error-login-unknown = Cette connexion n’existe pas, ou n’existe plus.
error-login-other-browser = Cette connexion a commencé dans un autre navigateur, ou celui-ci a perdu ses cookies.
error-idp-answer = La réponse de l’organisme de ce compte est inutilisable.
error-login-order = Vous avez continué dans un autre onglet.
error-login-done = Cette connexion est déjà terminée.
error-login-expired = Cette connexion a pris trop de temps.
error-login-too-many = Cette connexion a été fermée : trop de connexions étaient ouvertes.
error-repeated-cookie = Votre navigateur a envoyé deux fois le même cookie de ce site. Par sécurité, rien n’a été fait.
error-idp-blocked = La connexion avec ce compte est suspendue en ce moment.
error-idp-blocked-for-service = La connexion à ce service avec ce compte est suspendue en ce moment.
error-idp-reauthentication = Ce service exige que vous vous connectiez à nouveau, et ce compte ne peut pas montrer que vous l’avez fait.
error-redirect-withdrawn = Le service a changé d’adresse pendant votre connexion. Rien ne lui a été envoyé.
error-scope-withdrawn = Le service ne peut plus recevoir ces informations.
error-gate = Ce compte ne peut pas être utilisé pour ce service.
error-login-interrupted = La connexion a été coupée.
error-cancelled = Vous avez annulé la connexion.
error-refused = Vous avez refusé de transmettre vos informations.
error-login-required = Il faut vous connecter pour continuer.
error-consent-required = Il faut votre accord pour continuer.
error-mail-address = Cette connexion demande un code envoyé par courriel, mais votre compte n’a pas d’adresse électronique.
error-mail-address-unusable = Cette connexion demande un code envoyé par courriel, mais nous ne pouvons pas écrire à l’adresse électronique de votre compte.
error-mail-unreadable = Pour vous connecter avec ce compte, il faut le code que nous envoyons par courriel.
error-mail-code-wrong = Trop de codes incorrects ont été saisis.
error-mail-limited = Trop de codes ont été envoyés ou saisis pour ce compte. Réessayez plus tard.
error-mail-unavailable = Nous ne pouvons pas vous envoyer de code par courriel en ce moment.
error-csrf = Par sécurité, ce formulaire n’a pas été accepté.

## Erreurs : qui peut y remédier, et comment continuer

responsible-user = Rien n’est perdu : vous pouvez recommencer.
responsible-user-other = Vous pouvez vous connecter avec un autre compte, ou revenir au service.
responsible-register = Les informations de votre compte diffèrent peut-être de celles du registre, par exemple vos noms ou votre date de naissance. Demandez à l’organisme de votre compte de les vérifier, ou utilisez un autre compte.
register-correction = Si l’erreur est dans le registre, voici où la faire corriger :
responsible-identity = Demandez à l’organisme de votre compte de la compléter ou de la corriger, ou utilisez un autre compte.
responsible-mailbox = Si cette adresse électronique n’est plus la vôtre, demandez de l’aide : elle peut être supprimée.
responsible-cookies = Autorisez les cookies pour ce site. Retournez ensuite sur le site du service et connectez-vous à nouveau, sans changer de navigateur.
responsible-repeated-cookie = Ouvrez une fenêtre de navigation privée, allez sur le site du service et connectez-vous là. Pour utiliser de nouveau une fenêtre normale, supprimez les cookies de ce site dans les réglages de votre navigateur.
responsible-newer-tab = Poursuivez dans l’onglet ou la fenêtre que vous avez ouvert en dernier. Vous pouvez fermer celui-ci.
responsible-connection = Votre connexion à internet est peut-être lente. Vérifiez-la, puis réessayez.
responsible-user-continue = Rien n’est perdu : vous pouvez continuer.
responsible-other-tab = Ce que vous venez de faire ici appartient à une étape précédente. Rien n’est perdu : continuez ici, ou dans l’autre onglet.
responsible-finished = Vous l’avez terminée ici ou dans un autre onglet. Vous pouvez fermer cette page. Pour vous connecter à nouveau, repartez du service.
retry-later = Rien n’est perdu. Réessayez dans quelques minutes.
retry-wait = { $seconds ->
    [one] Rien n’est perdu. Vous pourrez réessayer dans { $seconds } seconde.
   *[other] Rien n’est perdu. Vous pourrez réessayer dans { $seconds } secondes.
}
retry-auto = Cette page réessaiera ensuite d’elle-même.
retry-auto-later = Cette page réessaie aussi d’elle-même, plusieurs fois.
retry-stop = Ne pas réessayer automatiquement
responsible-service = Seul le service d’où vous venez peut corriger cela. Donnez-lui les références en bas de page.
responsible-provider = C’est à l’organisme de votre compte d’y remédier. Donnez-lui les références en bas de page. Un autre compte peut fonctionner.
responsible-answer = Le service n’y est pour rien : l’organisme du compte a envoyé une mauvaise réponse, ou une réponse à un essai précédent. Vous pouvez poursuivre votre connexion ; un autre compte peut fonctionner.
responsible-answer-alone = Le service n’y est pour rien : l’organisme du compte a envoyé une mauvaise réponse, et aucune connexion n’est en cours dans ce navigateur. Vous pouvez fermer cette page, puis retourner sur le site du service.
responsible-operator = C’est à nous d’y remédier. Réessayez dans quelques minutes.
error-no-way = Vous pouvez fermer cette page, puis retourner sur le site du service.
support-link = Demander de l’aide
error-claim = Information concernée : { $claim }.
error-service = Service : « { $service } »
error-account = Compte : « { $provider } »
action-again = Réessayer
action-continue = Continuer la connexion
action-other = Choisir un autre compte
action-service = Revenir à « { $service } »
action-service-unnamed = Revenir au service
action-home = Recommencer depuis « { $service } »
action-home-unnamed = Recommencer depuis le service
action-sign-out = Me déconnecter ici
refs-title = Informations pour l’assistance
refs-code = Code
refs-precise = Deuxième code
refs-support = Référence
refs-time = Date
refs-developer = Pour l’équipe technique du service

## Retour, connexion en cours, déconnexion

return-title = Retour au service
return-lead = Vous allez revenir à « { $service } ». Si rien ne se passe, utilisez le bouton.
return-go = Continuer
log-out-title = Voulez-vous vous déconnecter ?
log-out-requested = « { $service } » vous propose de vous déconnecter.
log-out-account = Vous êtes connecté ici avec votre compte « { $provider } ». Après la déconnexion, chaque service vous demandera de vous connecter à nouveau.
log-out-no-session = Il semble que personne ne soit connecté ici dans ce navigateur. Pour en être sûr, vous pouvez tout de même vous déconnecter.
log-out-go = Me déconnecter
log-out-stay = Rester connecté et revenir à « { $service } »
log-out-close = Pour rester connecté, fermez simplement cette page.
landing-title = Une connexion pour de nombreux services
landing-go = On ne se connecte pas sur cette page. Allez sur le site du service que vous voulez utiliser, et demandez-y à vous connecter : il vous ramènera ici.
landing-shared = Vous avez utilisé un appareil partagé ? Déconnectez-vous ici avant de le quitter.
logged-out-title = Vous êtes déconnecté
logged-out-lead = Votre connexion ici est terminée.
logged-out-provider = Vous êtes aussi déconnecté de votre compte « { $provider } ».
logged-out-services = Les services que vous avez utilisés peuvent encore vous garder connecté. Déconnectez-vous aussi de chacun d’eux :
logged-out-unreached = « { $provider } » n’a pas pu être prévenu. Pour plus de sûreté, déconnectez-vous aussi de ce compte, ou fermez votre navigateur.
logged-out-start = Vers la page d’accueil

## Bac à sable

sandbox-ribbon = Bac à sable : rien n’est réel ici
sandbox-title = Qui voulez-vous être ?
sandbox-lead = « { $provider } » est un compte d’essai. Choisissez une personne, et ce qui doit arriver.
sandbox-person = Personne
sandbox-level = Sûreté de la connexion
sandbox-level-too-low = Moins que demandé : ce sera refusé
sandbox-methods = Moyens utilisés
sandbox-failure = Que doit-il arriver ?
sandbox-go = Se connecter

## Service de démonstration

demo-title = Essayer une connexion
demo-lead = Ce service fictif montre une connexion complète, puis tout ce qu’il a reçu. Aucune donnée n’est réelle.
demo-step-1 = Vous choisissez un compte d’essai.
demo-step-2 = Vous choisissez qui vous êtes.
demo-step-3 = Vous voyez ce que reçoit le service.
demo-standard = Plateforme standard
demo-standard-lead = L’identité vient du registre national. Les jetons sont signés.
demo-high = Plateforme élevée
demo-high-lead = L’identité vient du fournisseur du compte. Les jetons sont signés, puis chiffrés : ce service est seul à pouvoir les lire.
demo-sign-in-eidas1 = Se connecter : faible (eidas1)
demo-sign-in-eidas2 = Se connecter : substantiel (eidas2)
demo-sign-in-eidas3 = Se connecter : élevé (eidas3)
demo-in-title = Vous êtes connecté
demo-in-lead = Voici tout ce que ce service a reçu, après vérification.
demo-claims = Informations reçues
demo-in-encrypted = Les deux jetons sont arrivés chiffrés ; la clé privée du service les a déchiffrés.
demo-id-token = Jeton d’identité
demo-jwe-header = En-tête du chiffrement (JWE)
demo-header = En-tête de la signature (JWS)
demo-payload = Contenu
demo-userinfo = Informations de la personne (userinfo)
demo-data = Ce qu’apprend un fournisseur de données
demo-data-lead = Le service l’a appelé avec le jeton d’accès, et il a demandé à qui est ce jeton.
demo-token-answer = Réponse du point d’accès aux jetons
demo-sign-out = Se déconnecter
demo-sign-in-again = Se connecter à nouveau
demo-error-title = La connexion a échoué
demo-error-lead = Le service a reçu cette réponse à la place d’une connexion.
demo-wallet-title = Portefeuille de démonstration
demo-wallet-lead = Les documents de ce portefeuille sont fictifs. « { $hub } » demande :
demo-wallet-agree = Accepter et envoyer
demo-wallet-decline = Refuser
demo-error-code = Erreur
demo-error-description = Description
demo-refused-lead = Le service a reçu une réponse à laquelle il ne peut pas se fier, ou aucune. Il n’en a rien utilisé.
demo-refused-reason = Motif
sandbox-level-eidas1 = Faible (eidas1)
sandbox-level-eidas2 = Substantiel (eidas2)
sandbox-level-eidas3 = Élevé (eidas3)
sandbox-failure-none = Tout va bien
sandbox-failure-cancel = La personne renonce
sandbox-failure-error = Le fournisseur du compte tombe en panne
sandbox-failure-missing-claim = L’identité arrive sans date de naissance
sandbox-failure-unknown-person = Le registre ne connaît pas cette personne
sandbox-failure-level-too-low = La connexion est moins sûre que demandé
demo-sign-in-consent = Se connecter et donner son consentement (eidas1)
demo-methods = Comment la personne s’est connectée
demo-method-mark = Marque du hub
demo-out-title = Vous êtes déconnecté
demo-out-lead = Ce qui est terminé, autant qu’un service puisse le savoir :
demo-out-service = Ce service : sa session est terminée.
demo-out-hub = Le hub : sa session est terminée. Il a renvoyé votre navigateur avec le « state » de cette déconnexion.
demo-out-hub-unknown = Le hub : on ne sait pas. Il n’a pas renvoyé votre navigateur.
demo-out-provider = Le fournisseur du compte : le hub y envoie votre navigateur pour le déconnecter, là où c’est possible. Un service n’en reçoit pas de confirmation.
demo-out-provider-unknown = Le fournisseur du compte : on ne sait pas.
demo-next = À voir ensuite :
demo-next-start = connectez-vous. Au choix du compte, l’un est bloqué et un autre injoignable : voyez ce qui est montré à la personne. Pour en savoir plus : { $page }
demo-next-in = la console de l’opérateur compte cette connexion, sans montrer de nom. Pour vous connecter depuis votre propre application : { $page }
demo-next-out = connectez-vous à nouveau : vous choisissez encore le compte et la personne, car il ne reste aucune session. Pour en savoir plus : { $page }
demo-next-error = si une page a montré une référence, cherchez-la dans la console de l’opérateur. Tous les codes d’erreur : { $page }
demo-console-standard = Console de l’opérateur, standard
demo-console-high = Console de l’opérateur, élevée
sandbox-next = sous « Que doit-il arriver ? », choisissez un échec, et voyez ce que reçoivent la personne et le service. Pour en savoir plus : { $page }
method-pwd = Mot de passe
method-pin = Code PIN
method-kba = Questions personnelles
method-otp = Code à usage unique
method-sms = SMS
method-tel = Appel téléphonique
method-hwk = Clé matérielle
method-swk = Clé logicielle
method-sc = Carte à puce
method-pop = Preuve d’une clé
method-face = Visage
method-fpt = Empreinte digitale
method-iris = Iris
method-retina = Rétine
method-vbm = Voix
method-mail = Courriel
method-geo = Lieu
method-mca = Plusieurs canaux
method-rba = Évaluation du risque
method-user = Présence de la personne
method-wia = Connexion Windows
method-mfa = Plusieurs facteurs

# What the operator has to say to everybody
notice-warning = Important :
notice-more = En savoir plus

## Les pages sur une erreur OAuth, pour les développeurs

oauth-error-title = L’erreur { $error }
oauth-error-lead = Cette page s’adresse à ceux qui développent ou exploitent un service. Le hub a répondu par cette erreur à une requête du serveur du service. Si vous vouliez seulement vous connecter, revenez au service.
oauth-error-causes = Causes possibles, et que faire
oauth-error-precise = Cette page est la même pour chacune de ces causes, afin de ne révéler aucun service ; error_description en dit parfois plus. L’opérateur du hub peut trouver la cause exacte dans le journal, avec l’heure et votre client_id.
oauth-error-documentation = Documentation pour les services
oauth-error-invalid-request =
    Un paramètre manque, est vide ou est envoyé deux fois : error_description le nomme. Envoyez-le une fois.
    Le corps n’est pas un formulaire : envoyez-le en application/x-www-form-urlencoded.
    Le client s’authentifie de deux façons, par exemple dans l’en-tête et dans le corps : n’utilisez que celle qui est enregistrée.
oauth-error-invalid-client =
    Le client s’authentifie par une autre méthode que celle enregistrée. Beaucoup de bibliothèques envoient le secret dans l’en-tête ; par défaut le hub attend client_secret_post, dans le corps.
    Le secret est faux, expiré ou pas encore valable. Comparez-le, sans espaces autour, et demandez-en un nouveau à l’opérateur au besoin.
    Le client_id est inconnu ici, ou désactivé : chaque plateforme et chaque environnement a le sien.
    Une assertion signée n’est pas acceptée : vérifiez sa clé, son aud (l’émetteur), son exp, et que son jti est nouveau.
oauth-error-invalid-grant =
    Le code est trop ancien ou a déjà servi : échangez-le une seule fois, dès son arrivée.
    Le redirect_uri diffère de celui de la demande d’autorisation.
    Le code_verifier est celui d’une autre connexion : gardez-le dans la session du navigateur qui a commencé la connexion.
    Le code a été émis pour un autre client, ou l’utilisateur s’est déconnecté entre-temps.
oauth-error-unsupported-grant-type =
    Le grant_type doit être authorization_code, ou refresh_token si le fournisseur de services est enregistré pour les jetons de rafraîchissement. Sans eux, commencez une nouvelle connexion : avec prompt=none, elle ne montre aucune page tant que la session dure.
oauth-error-temporarily-unavailable =
    Le hub est surchargé, ou ne peut pas lire les clés à votre jwks_uri : réessayez dans un instant, ou après le délai Retry-After si la réponse le contient.
    Trop d’authentifications ont échoué avec votre client_id : corrigez les identifiants, puis attendez.
oauth-error-server-error =
    Le hub a rencontré une erreur interne : donnez l’heure et votre client_id à son opérateur.

## Diagnostics d’un hub bac à sable, pour les développeurs

diagnostics-title = Que fait le hub de cette requête ?
diagnostics-lead = Collez l’adresse vers laquelle votre service envoie le navigateur. Le hub explique chaque paramètre, et ne commence aucune connexion.
diagnostics-result = Résultat
diagnostics-parameters = Paramètre par paramètre
diagnostics-url = Adresse de la demande d’autorisation
diagnostics-help = De https:// jusqu’au dernier paramètre. Elle n’est ni conservée, ni réaffichée.
diagnostics-go = Expliquer
token-diagnostic-title = Pourquoi la demande de jetons a échoué
token-diagnostic-lead = Cette page s’ouvre pendant dix minutes. Seul un bac à sable donne la cause exacte ; en production, votre service ne voit que l’erreur.
token-diagnostic-fix = Que faire
