public-status-title = État du service
public-status-feed = { $hub } : état du service
public-status-no-problem = Vous pouvez vous connecter avec tous les comptes.
public-status-problems = Problèmes en cours
public-status-planned-title = Interruptions prévues
public-status-down = ne fonctionne pas
public-status-degraded = fonctionne à nouveau, après des problèmes récents
public-status-blocked = suspendu
public-status-planned = interruption prévue
public-status-begins = Début :
public-status-ends = Fin :
public-status-from = À partir du { $time }.
public-status-until = Jusqu’au { $time }.
public-status-time = État au
public-accessibility-title = Déclaration d’accessibilité
public-accessibility-scope = Cette déclaration concerne les pages de connexion de « { $hub } », que chacun doit pouvoir utiliser (directive (UE) 2016/2102).
public-accessibility-conformity = Conformité
public-accessibility-full = Les pages sont conformes à la norme EN 301 549 et aux WCAG 2.1, niveau AA.
public-accessibility-partial = Les pages sont partiellement conformes à la norme EN 301 549 et aux WCAG 2.1, niveau AA : voir les exceptions ci-dessous.
public-accessibility-none = Les pages ne sont pas conformes à la norme EN 301 549 et aux WCAG 2.1, niveau AA : voir les raisons ci-dessous.
public-accessibility-defects = Contenus non accessibles
public-accessibility-preparation = Établissement de cette déclaration
public-accessibility-prepared = Elle a été établie le { $date }.
public-accessibility-self = Elle s’appuie sur une évaluation réalisée par l’exploitant.
public-accessibility-external = Elle s’appuie sur une évaluation réalisée par un organisme externe.
public-accessibility-feedback = Signaler un problème
public-accessibility-contact = Écrivez-nous si vous rencontrez un obstacle, ou pour obtenir ces contenus sous une autre forme :
public-accessibility-enforcement = Si notre réponse ne vous satisfait pas
public-accessibility-body = Vous pouvez vous adresser à cette autorité :
public-privacy-title = Données personnelles
public-privacy-scope = Cette page concerne les données que « { $hub } » traite quand vous vous connectez à un service.
public-privacy-controller = Responsable du traitement
public-privacy-officer = Délégué à la protection des données :
public-privacy-purpose-title = À quoi servent les données
public-privacy-purpose = Elles permettent au service que vous avez choisi de savoir, de façon fiable, qui vous êtes.
public-privacy-basis = Base légale :
public-privacy-data-title = Quelles données, et d’où elles viennent
public-privacy-data = Le compte que vous choisissez indique qui vous êtes, comment vous vous êtes connecté et avec quel niveau de fiabilité. Un service ne reçoit que ce qu’il a le droit de demander.
public-privacy-register = Un registre de personnes confirme ou complète ces données.
public-privacy-recipients = Qui les reçoit
public-privacy-service = le service auquel vous vous connectez
public-privacy-periods = Durées de conservation
public-privacy-login = Données d’une connexion non terminée : { $period } au plus.
public-privacy-session = Données de votre session : jusqu’à votre déconnexion, ou { $idle } sans utilisation, et { $period } au plus.
public-privacy-refresh = Données pour un service qui peut les recevoir à nouveau en votre absence : { $period } au plus, ou jusqu’à ce que vous retiriez votre accord.
public-privacy-recent = Heures, services et erreurs des connexions récentes, sans votre nom, pour l’assistance : { $period } au plus.
public-privacy-audit = Journal d’audit, avec pseudonymes, services et heures : { $period }.
public-privacy-audit-unlimited = Journal d’audit, avec pseudonymes, services et heures : sans durée fixée.
public-privacy-choice = Cookie qui retient le dernier compte choisi : { $period }.
public-privacy-rights-title = Vos droits
public-privacy-rights = Vous pouvez consulter vos données, les faire rectifier ou effacer, faire limiter leur usage et vous y opposer.
public-privacy-complaint = Vous pouvez adresser une réclamation à :
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
