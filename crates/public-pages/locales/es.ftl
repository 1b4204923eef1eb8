public-status-title = Estado del servicio
public-status-feed = Estado de { $hub }
public-status-no-problem = Puede iniciar sesión con todas las cuentas.
public-status-problems = Problemas actuales
public-status-planned-title = Interrupciones previstas
public-status-down = no funciona
public-status-degraded = vuelve a funcionar, tras fallos recientes
public-status-blocked = suspendida
public-status-planned = interrupción prevista
public-status-begins = Comienza:
public-status-ends = Termina:
public-status-from = Desde el { $time }.
public-status-until = Hasta el { $time }.
public-status-time = Estado a
public-accessibility-title = Declaración de accesibilidad
public-accessibility-scope = Esta declaración se refiere a las páginas de inicio de sesión de { $hub }, que todas las personas deben poder utilizar (Directiva (UE) 2016/2102).
public-accessibility-conformity = Situación de cumplimiento
public-accessibility-full = Las páginas son conformes con la norma EN 301 549 y las WCAG 2.1, nivel AA.
public-accessibility-partial = Las páginas son parcialmente conformes con la norma EN 301 549 y las WCAG 2.1, nivel AA, con las excepciones que se indican a continuación.
public-accessibility-none = Las páginas no son conformes con la norma EN 301 549 ni con las WCAG 2.1, nivel AA, por las razones que se indican a continuación.
public-accessibility-defects = Contenido no accesible
public-accessibility-preparation = Preparación de esta declaración
public-accessibility-prepared = Se preparó el { $date }.
public-accessibility-self = Se basa en una autoevaluación del responsable del sitio.
public-accessibility-external = Se basa en una evaluación realizada por otra organización.
public-accessibility-feedback = Comunicar un problema
public-accessibility-contact = Escríbanos si algo le impide utilizar estas páginas o si las necesita en otro formato:
public-accessibility-enforcement = Si nuestra respuesta no le satisface
public-accessibility-body = Puede dirigirse a esta autoridad:
public-privacy-title = Política de privacidad
public-privacy-scope = Esta política se refiere a los datos que { $hub } trata cuando usted inicia sesión en un servicio.
public-privacy-controller = Responsable del tratamiento
public-privacy-officer = Delegado de protección de datos:
public-privacy-purpose-title = Para qué se utilizan los datos
public-privacy-purpose = El servicio que ha elegido sabe quién es usted y puede confiar en ello.
public-privacy-basis = Base jurídica:
public-privacy-data-title = Qué datos se tratan y de dónde proceden
public-privacy-data = La cuenta que elige indica quién es usted, cómo ha iniciado sesión y con qué grado de fiabilidad. El servicio solo recibe los datos que puede pedir.
public-privacy-register = Un registro de personas confirma o completa estos datos.
public-privacy-recipients = Quién recibe los datos
public-privacy-service = el servicio en el que inicia sesión
public-privacy-periods = Cuánto tiempo se conservan
public-privacy-login = Datos de un inicio de sesión sin terminar: { $period } como máximo.
public-privacy-session = Datos de su sesión: hasta que la cierre o tras { $idle } sin uso, y { $period } como máximo.
public-privacy-refresh = Datos para un servicio que puede recibirlos de nuevo sin que usted esté presente: { $period } como máximo, o hasta que usted revoque ese permiso.
public-privacy-recent = Horas, servicios y errores de los inicios de sesión recientes, sin su nombre, para la asistencia: { $period } como máximo.
public-privacy-audit = Registro de auditoría, con seudónimos, servicios y horas: { $period }.
public-privacy-audit-unlimited = Registro de auditoría, con seudónimos, servicios y horas: sin plazo fijo.
public-privacy-choice = Una cookie con la última cuenta que eligió: { $period }.
public-privacy-rights-title = Sus derechos
public-privacy-rights = Puede acceder a sus datos, pedir que se rectifiquen o se supriman o que se limite su uso, y oponerse a este.
public-privacy-complaint = Puede presentar una reclamación ante:
public-status-available-count =
    { $count ->
        [one] { $count } cuenta funciona.
       *[other] { $count } cuentas funcionan.
    }
public-days =
    { $count ->
        [one] { $count } día
       *[other] { $count } días
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
