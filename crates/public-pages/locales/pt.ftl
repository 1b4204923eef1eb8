public-status-title = Estado do serviço
public-status-feed = Estado de { $hub }
public-status-no-problem = Pode iniciar sessão com todas as contas.
public-status-problems = Problemas atuais
public-status-planned-title = Interrupções previstas
public-status-down = não funciona
public-status-degraded = funciona de novo, após falhas recentes
public-status-blocked = bloqueada
public-status-planned = interrupção prevista
public-status-begins = Início:
public-status-ends = Fim:
public-status-from = A partir de { $time }.
public-status-until = Até { $time }.
public-status-time = Estado em
public-accessibility-title = Declaração de acessibilidade
public-accessibility-scope = Esta declaração diz respeito às páginas de início de sessão de { $hub }, que todas as pessoas devem poder usar (Diretiva (UE) 2016/2102).
public-accessibility-conformity = Conformidade
public-accessibility-full = As páginas estão conformes com EN 301 549 e WCAG 2.1, nível AA.
public-accessibility-partial = As páginas estão parcialmente conformes com EN 301 549 e WCAG 2.1, nível AA: seguem-se as exceções.
public-accessibility-none = As páginas não estão conformes com EN 301 549 e WCAG 2.1, nível AA: seguem-se as razões.
public-accessibility-defects = O que não é acessível
public-accessibility-preparation = Esta declaração
public-accessibility-prepared = Foi preparada em { $date }.
public-accessibility-self = Baseia-se numa avaliação do operador.
public-accessibility-external = Baseia-se numa avaliação de outra organização.
public-accessibility-feedback = Comunicar um problema
public-accessibility-contact = Escreva-nos se algo o impede de continuar ou se precisa de outra forma:
public-accessibility-enforcement = Se a nossa resposta não for suficiente
public-accessibility-body = Pode dirigir-se a esta autoridade:
public-privacy-title = Aviso de privacidade
public-privacy-scope = Este aviso trata dos dados que { $hub } usa quando inicia sessão num serviço.
public-privacy-controller = Quem é responsável
public-privacy-officer = Encarregado da proteção de dados:
public-privacy-purpose-title = Para que servem os dados
public-privacy-purpose = O serviço que escolheu fica a saber quem é e pode confiar nisso.
public-privacy-basis = Base jurídica:
public-privacy-data-title = Que dados, e de onde vêm
public-privacy-data = A conta que escolhe diz quem é, como iniciou sessão e com que fiabilidade. Um serviço só recebe o que pode pedir.
public-privacy-register = Um registo de pessoas confirma-os ou completa-os.
public-privacy-recipients = Quem os recebe
public-privacy-service = o serviço em que inicia sessão
public-privacy-periods = Quanto tempo são conservados
public-privacy-login = Dados de um início de sessão não terminado: { $period } no máximo.
public-privacy-session = Dados da sua sessão: até terminar a sessão, { $idle } sem uso, { $period } no máximo.
public-privacy-refresh = Dados para um serviço que pode voltar sem si: { $period } no máximo, ou até os revogar.
public-privacy-recent = Horas, serviços e erros de inícios de sessão recentes, sem o seu nome, para apoio: { $period } no máximo.
public-privacy-audit = Registo de auditoria, com pseudónimos, serviços e horas: { $period }.
public-privacy-audit-unlimited = Registo de auditoria, com pseudónimos, serviços e horas: sem prazo fixo.
public-privacy-choice = Um cookie com a última conta escolhida: { $period }.
public-privacy-rights-title = Os seus direitos
public-privacy-rights = Pode consultar os seus dados, pedir a sua retificação ou eliminação, a limitação do seu uso, e opor-se a ele.
public-privacy-complaint = Pode apresentar uma reclamação a:
public-status-available-count =
    { $count ->
        [one] { $count } conta funciona.
       *[other] { $count } contas funcionam.
    }
public-days =
    { $count ->
        [one] { $count } dia
       *[other] { $count } dias
    }
public-hours =
    { $count ->
        [one] { $count } hora
       *[other] { $count } horas
    }
public-minutes =
    { $count ->
        [one] { $count } minuto
       *[other] { $count } minutos
    }
