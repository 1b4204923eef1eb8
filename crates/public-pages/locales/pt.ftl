public-status-title = Estado do serviço
public-status-feed = Estado de { $hub }
public-status-no-problem = Pode autenticar-se com todas as contas.
public-status-problems = Problemas atuais
public-status-planned-title = Interrupções previstas
public-status-down = não funciona
public-status-degraded = voltou a funcionar, após falhas recentes
public-status-blocked = suspensa
public-status-planned = interrupção prevista
public-status-begins = Início:
public-status-ends = Fim:
public-status-from = A partir de { $time }.
public-status-until = Até { $time }.
public-status-time = Estado em
public-accessibility-title = Declaração de acessibilidade
public-accessibility-scope = Esta declaração diz respeito às páginas de autenticação de { $hub }, que todas as pessoas devem poder utilizar (Diretiva (UE) 2016/2102).
public-accessibility-conformity = Estado de conformidade
public-accessibility-full = As páginas estão em conformidade com a norma EN 301 549 e as WCAG 2.1, nível AA.
public-accessibility-partial = As páginas estão parcialmente em conformidade com a norma EN 301 549 e as WCAG 2.1, nível AA, com as exceções indicadas a seguir.
public-accessibility-none = As páginas não estão em conformidade com a norma EN 301 549 nem com as WCAG 2.1, nível AA, pelas razões indicadas a seguir.
public-accessibility-defects = Conteúdo não acessível
public-accessibility-preparation = Elaboração desta declaração
public-accessibility-prepared = Foi elaborada em { $date }.
public-accessibility-self = Baseia-se numa autoavaliação do responsável pelo sítio.
public-accessibility-external = Baseia-se numa avaliação feita por outra organização.
public-accessibility-feedback = Comunicar um problema
public-accessibility-contact = Escreva-nos se não conseguir usar estas páginas ou se precisar delas noutro formato:
public-accessibility-enforcement = Se a nossa resposta não for satisfatória
public-accessibility-body = Pode dirigir-se a esta autoridade:
public-privacy-title = Política de privacidade
public-privacy-scope = Esta política diz respeito aos dados que { $hub } trata para a sua autenticação num serviço.
public-privacy-controller = Responsável pelo tratamento
public-privacy-officer = Encarregado da proteção de dados:
public-privacy-purpose-title = Para que são usados os dados
public-privacy-purpose = O serviço que escolheu fica a saber quem é e pode confiar nisso.
public-privacy-basis = Fundamento jurídico:
public-privacy-data-title = Que dados são tratados e de onde vêm
public-privacy-data = A conta que escolhe indica quem é, como se autenticou e com que grau de fiabilidade. O serviço só recebe os dados que pode pedir.
public-privacy-register = Um registo de pessoas confirma ou completa estes dados.
public-privacy-recipients = Quem recebe os dados
public-privacy-service = o serviço em que se autentica
public-privacy-periods = Durante quanto tempo são conservados
public-privacy-login = Dados de uma autenticação não concluída: { $period } no máximo.
public-privacy-session = Dados da sua sessão: até a terminar ou após { $idle } sem utilização, e { $period } no máximo.
public-privacy-refresh = Dados para um serviço que pode voltar a recebê-los na sua ausência: { $period } no máximo, ou até revogar essa autorização.
public-privacy-recent = Horas, serviços e erros das autenticações recentes, sem o seu nome, para o apoio ao utilizador: { $period } no máximo.
public-privacy-audit = Registo de auditoria, com pseudónimos, serviços e horas: { $period }.
public-privacy-audit-unlimited = Registo de auditoria, com pseudónimos, serviços e horas: sem prazo fixo.
public-privacy-choice = Um cookie com a última conta que escolheu: { $period }.
public-privacy-rights-title = Os seus direitos
public-privacy-rights = Pode aceder aos seus dados, pedir que sejam retificados ou apagados ou que o seu uso seja limitado, e opor-se a esse uso.
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
