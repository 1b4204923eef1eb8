public-status-title = Estado del servicio
public-status-feed = Estado de { $hub }
public-status-no-problem = Puede iniciar sesión con todas las cuentas.
public-status-problems = Problemas actuales
public-status-planned-title = Interrupciones previstas
public-status-down = no funciona
public-status-degraded = funciona de nuevo, tras fallos recientes
public-status-blocked = bloqueada
public-status-planned = interrupción prevista
public-status-begins = Comienza:
public-status-ends = Termina:
public-status-from = Desde { $time }.
public-status-until = Hasta { $time }.
public-status-time = Estado a
public-accessibility-title = Declaración de accesibilidad
public-accessibility-scope = Esta declaración se refiere a las páginas de inicio de sesión de { $hub }, que toda persona debe poder usar (Directiva (UE) 2016/2102).
public-accessibility-conformity = Conformidad
public-accessibility-full = Las páginas son conformes con EN 301 549 y WCAG 2.1, nivel AA.
public-accessibility-partial = Las páginas son parcialmente conformes con EN 301 549 y WCAG 2.1, nivel AA; siguen las excepciones.
public-accessibility-none = Las páginas no son conformes con EN 301 549 y WCAG 2.1, nivel AA; siguen las razones.
public-accessibility-defects = Qué no es accesible
public-accessibility-preparation = Esta declaración
public-accessibility-prepared = Se preparó el { $date }.
public-accessibility-self = Se basa en una evaluación del operador.
public-accessibility-external = Se basa en una evaluación de otra organización.
public-accessibility-feedback = Comunicar un problema
public-accessibility-contact = Escríbanos si algo le impide continuar o si lo necesita en otra forma:
public-accessibility-enforcement = Si nuestra respuesta no le satisface
public-accessibility-body = Puede dirigirse a esta autoridad:
public-privacy-title = Aviso de privacidad
public-privacy-scope = Este aviso trata de los datos que { $hub } utiliza cuando inicia sesión en un servicio.
public-privacy-controller = Quién es responsable
public-privacy-officer = Delegado de protección de datos:
public-privacy-purpose-title = Para qué sirven los datos
public-privacy-purpose = El servicio que ha elegido sabe quién es usted y puede confiar en ello.
public-privacy-basis = Base jurídica:
public-privacy-data-title = Qué datos, y de dónde vienen
public-privacy-data = La cuenta que elige dice quién es usted, cómo ha iniciado sesión y con qué fiabilidad. Un servicio solo recibe lo que puede pedir.
public-privacy-register = Un registro de personas los confirma o los completa.
public-privacy-recipients = Quién los recibe
public-privacy-service = el servicio en el que inicia sesión
public-privacy-periods = Cuánto tiempo se conservan
public-privacy-login = Datos de un inicio de sesión sin terminar: { $period } como máximo.
public-privacy-session = Datos de su sesión: hasta que la cierre, { $idle } sin uso, { $period } como máximo.
public-privacy-refresh = Datos para un servicio que puede volver sin usted: { $period } como máximo, o hasta que lo revoque.
public-privacy-recent = Horas, servicios y errores de inicios recientes, sin su nombre, para la asistencia: { $period } como máximo.
public-privacy-audit = Registro de auditoría, con seudónimos, servicios y horas: { $period }.
public-privacy-audit-unlimited = Registro de auditoría, con seudónimos, servicios y horas: sin plazo fijo.
public-privacy-choice = Una cookie con la última cuenta elegida: { $period }.
public-privacy-rights-title = Sus derechos
public-privacy-rights = Puede consultar sus datos, pedir que se rectifiquen o supriman, que se limite su uso, y oponerse a él.
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
