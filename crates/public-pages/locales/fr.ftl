public-status-title = État du service
public-status-feed = État de { $hub }
public-status-no-problem = Vous pouvez vous connecter avec tous les comptes.
public-status-problems = Problèmes en cours
public-status-planned-title = Interruptions prévues
public-status-down = ne fonctionne pas
public-status-degraded = fonctionne à nouveau, après des échecs récents
public-status-blocked = bloqué
public-status-planned = interruption prévue
public-status-begins = Début :
public-status-ends = Fin :
public-status-from = À partir du { $time }.
public-status-until = Jusqu’au { $time }.
public-status-time = État au
public-accessibility-title = Déclaration d’accessibilité
public-accessibility-scope = Cette déclaration concerne les pages de connexion de { $hub }, que chacun doit pouvoir utiliser (directive (UE) 2016/2102).
public-accessibility-conformity = Conformité
public-accessibility-full = Les pages sont conformes à la norme EN 301 549 et aux WCAG 2.1, niveau AA.
public-accessibility-partial = Les pages sont partiellement conformes à la norme EN 301 549 et aux WCAG 2.1, niveau AA : les exceptions suivent.
public-accessibility-none = Les pages ne sont pas conformes à la norme EN 301 549 et aux WCAG 2.1, niveau AA : les raisons suivent.
public-accessibility-defects = Ce qui n’est pas accessible
public-accessibility-preparation = Cette déclaration
public-accessibility-prepared = Elle a été établie le { $date }.
public-accessibility-self = Elle s’appuie sur une évaluation de l’exploitant.
public-accessibility-external = Elle s’appuie sur une évaluation d’un autre organisme.
public-accessibility-feedback = Signaler un problème
public-accessibility-contact = Écrivez-nous si un obstacle vous arrête, ou si vous avez besoin d’une autre forme :
public-accessibility-enforcement = Si notre réponse ne vous satisfait pas
public-accessibility-body = Vous pouvez vous adresser à cette autorité :
public-privacy-title = Protection des données
public-privacy-scope = Cette page concerne les données que { $hub } traite quand vous vous connectez à un service.
public-privacy-controller = Responsable du traitement
public-privacy-officer = Délégué à la protection des données :
public-privacy-purpose-title = À quoi servent les données
public-privacy-purpose = Le service que vous avez choisi apprend qui vous êtes et peut s’y fier.
public-privacy-basis = Base juridique :
public-privacy-data-title = Quelles données, et leur origine
public-privacy-data = Le compte que vous choisissez indique qui vous êtes, comment vous vous êtes connecté et avec quelle fiabilité. Un service ne reçoit que ce qu’il a le droit de demander.
public-privacy-register = Un registre de personnes les confirme ou les complète.
public-privacy-recipients = Qui les reçoit
public-privacy-service = le service auquel vous vous connectez
public-privacy-periods = Durées de conservation
public-privacy-login = Données d’une connexion non terminée : { $period } au plus.
public-privacy-session = Données de votre session : jusqu’à votre déconnexion, { $idle } sans utilisation, { $period } au plus.
public-privacy-refresh = Données pour un service qui peut revenir sans vous : { $period } au plus, ou jusqu’à votre retrait.
public-privacy-recent = Heures, services et erreurs des connexions récentes, sans votre nom, pour l’assistance : { $period } au plus.
public-privacy-audit = Journal d’audit, avec pseudonymes, services et heures : { $period }.
public-privacy-audit-unlimited = Journal d’audit, avec pseudonymes, services et heures : sans durée fixée.
public-privacy-choice = Un cookie avec le compte choisi en dernier : { $period }.
public-privacy-rights-title = Vos droits
public-privacy-rights = Vous pouvez consulter vos données, les faire rectifier ou effacer, faire limiter leur usage et vous y opposer.
public-privacy-complaint = Vous pouvez déposer une plainte auprès de :
public-status-available-count =
    { $count ->
        [one] { $count } compte fonctionne.
       *[other] { $count } comptes fonctionnent.
    }
public-days =
    { $count ->
        [one] { $count } jour
       *[other] { $count } jours
    }
public-hours =
    { $count ->
        [one] { $count } heure
       *[other] { $count } heures
    }
public-minutes =
    { $count ->
        [one] { $count } minute
       *[other] { $count } minutes
    }
