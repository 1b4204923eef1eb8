### What a person reads. Short sentences, no protocol words.
### One word for one thing: "servicio" (who asks), "cuenta" (what you sign in with),
### "entidad" (who runs the account), "inicio de sesión".

footer-label = Enlaces útiles
language-name = Español
language-label = Idioma
language-go = Cambiar de idioma

## Dates

month-1 = enero
month-2 = febrero
month-3 = marzo
month-4 = abril
month-5 = mayo
month-6 = junio
month-7 = julio
month-8 = agosto
month-9 = septiembre
month-10 = octubre
month-11 = noviembre
month-12 = diciembre
date-day = { $day } de { $month } de { $year }
date-month = { $month } de { $year } (día desconocido)
date-year = { $year } (día y mes desconocidos)
date-time = { $date }, { $time } (UTC)

## Choice of the account

choice-title = Elija una cuenta
choice-title-service = Iniciar sesión en «{ $service }»
choice-lead = Elija la cuenta que desea utilizar.
site-line = «{ $hub }» le permite iniciar sesión en servicios con una cuenta que ya tiene.
choice-asks = «{ $service }» le pide que inicie sesión.
level-eidas1 = Basta con su cuenta habitual.
level-eidas2 = Este servicio pide un inicio de sesión reforzado, con dos pruebas: por ejemplo, una contraseña y su teléfono.
level-eidas3 = Este servicio pide el inicio de sesión más seguro: por ejemplo, con un documento de identidad electrónico.
choice-accounts = Cuentas disponibles
choice-banner = No se ha podido iniciar sesión con «{ $provider }».
choice-stopped = Se detuvo el inicio de sesión con «{ $provider }».
choice-stopped-next = No se envió nada al servicio. Elija de nuevo esta cuenta u otra.
choice-less-safe = El inicio de sesión con «{ $provider }» no fue lo bastante seguro para este servicio.
choice-less-safe-next = No se envió nada al servicio. Elija otra cuenta, o esta misma con un método de acceso más seguro, si lo ofrece.
choice-not-me = Ha indicado que no era usted. No se envió nada al servicio.
choice-not-me-next = Es posible que «{ $provider }» aún recuerde a la otra persona: si vuelve a aparecer su nombre, cierre la sesión en «{ $provider }» y regrese.
choice-search = Buscar una cuenta por su nombre
choice-search-go = Buscar
choice-found-none = Ninguna cuenta disponible coincide con «{ $query }».
choice-show-all = Ver todas las cuentas
choice-total = Hay { $total } cuentas disponibles. Busque la suya por su nombre.
choice-range = Cuentas { $first } a { $last } de { $total }
choice-found = { $total ->
    [one] { $total } cuenta encontrada
   *[other] { $total } cuentas encontradas
}
choice-email = Correo electrónico
choice-email-use = Solo se utiliza la parte que sigue a la @, para saber dónde inicia sesión. La dirección no se guarda.
choice-email-go = Continuar
choice-email-list = Elegir de la lista
choice-email-again = Indicar un correo electrónico
choice-email-malformed = Escriba una dirección de correo electrónico completa, por ejemplo nombre@example.org.
choice-email-found = Cuentas para las direcciones de «{ $domain }»:
choice-email-unknown = No hay ninguna cuenta registrada para las direcciones de «{ $domain }». Elija una de la lista.
choice-last-used = Última cuenta utilizada
choice-forget = No recordar esta cuenta
choice-others = Otras cuentas
choice-see-category = { $category }: ver las { $total } cuentas
choice-letters = Cuentas por letra inicial
choice-pages = Páginas de la lista
choice-previous = Cuentas anteriores
choice-next = Cuentas siguientes
choice-none = No hay ninguna cuenta disponible en este momento.
choice-no-account = No tengo ninguna de estas cuentas
choice-unavailable = No disponibles en este momento
choice-recent-trouble = Ha tenido un problema hace un momento
choice-unavailable-more = { $total ->
    [one] Y { $total } más: busque su nombre para saber por qué.
   *[other] Y { $total } más: busque un nombre para saber por qué.
}
choice-cancel = Cancelar y volver a «{ $service }»
why-too-low = No ofrece la seguridad que pide este servicio
why-no-reauthentication = No puede pedirle que inicie sesión de nuevo, aunque este servicio lo exige
why-not-for-service = No se puede utilizar para este servicio
why-in-trouble = Con problemas técnicos en este momento
why-off = Desactivada en este momento
why-blocked = Suspendida en este momento

## Typing a password, for an account whose organisation has no page of its own

sign-in-title = Iniciar sesión con «{ $provider }»
sign-in-username = Nombre de usuario
sign-in-password = Contraseña
sign-in-show = Mostrar la contraseña
sign-in-hide = Ocultar la contraseña
sign-in-forgotten = He olvidado mi contraseña
sign-in-whose = Escriba la contraseña que utiliza en «{ $provider }», y ninguna otra. Se comprueba allí y aquí no se guarda en ningún sitio.
sign-in-go = Iniciar sesión
sign-in-other = Elegir otra cuenta
sign-in-empty = Escriba su nombre de usuario y su contraseña.
sign-in-wrong = El nombre de usuario o la contraseña no son correctos, o la cuenta está bloqueada por un tiempo.
sign-in-last = Le queda un intento. Si tampoco es correcto, tendrá que esperar antes del siguiente.
sign-in-wait = { $minutes ->
    [one] Ha habido demasiados intentos fallidos. Espere un minuto y vuelva a intentarlo.
   *[other] Ha habido demasiados intentos fallidos. Espere { $minutes } minutos y vuelva a intentarlo.
}
sign-in-new-password = Establecer una contraseña nueva
password-title = Su contraseña
password-must-change = Su contraseña es válida, pero tiene que cambiarla.
password-sign-ins-left = Su contraseña ha caducado. Cámbiela ahora. Inicios de sesión que quedan con ella: { $count }.
password-expires = Su contraseña caducará pronto. Cámbiela a tiempo. Días restantes: { $days }.
password-where = Puede cambiarla en «{ $provider }».

## A code by mail

mail-page-title = Escriba el código que le hemos enviado por correo electrónico
mail-page-sent = Hemos enviado un código a { $address }. Es válido durante diez minutos.
mail-page-why = «{ $service }» pide este código además de su contraseña.
mail-page-code = Código de seis dígitos
mail-page-go = Continuar
mail-page-wrong = El código no es correcto. Intentos restantes: { $count }.
mail-page-expired = Este código ya no es válido. Pida otro.
mail-page-missing = ¿No le ha llegado nada tras un minuto? Mire también en el correo no deseado o pida otro código.
mail-page-resend = Enviar otro código
mail-page-reload = Podrá pedir otro código dentro de un minuto: vuelva a cargar la página
mail-page-unreadable = No tengo acceso a este buzón de correo

## What is sent

inform-title = Sus datos para este servicio
inform-lead = «{ $service }» recibirá:
inform-why = «{ $service }» pide estos datos para saber quién es usted. No se envía nada antes de que usted continúe.
inform-go = Continuar a «{ $service }»
inform-cancel = No continuar
consent-title = ¿Acepta que se envíen estos datos?
consent-lead = «{ $service }» pide recibir:
consent-yes = Sí, acepto
consent-no = No acepto
consent-person = Va a iniciar sesión como
consent-not-me = No soy yo
consent-pseudonym = «{ $service }» no recibirá su nombre ni ningún otro dato. Solo recibirá un número creado para este servicio, que servirá para reconocerle la próxima vez.
consent-source-register = Estos datos proceden del registro nacional y de su cuenta «{ $provider }».
consent-source-provider = Estos datos proceden de su cuenta «{ $provider }».
consent-account = Ha iniciado sesión con su cuenta «{ $provider }».
consent-offline = «{ $service }» también podrá recibirlos de nuevo más adelante, sin que usted esté presente.
value-none = no indicado
value-code = código { $code }
country-99100 = Francia
claim-given-names = Nombre
claim-family-name = Apellidos de nacimiento
claim-birthdate = Fecha de nacimiento
claim-gender = Sexo
claim-birthplace = Lugar de nacimiento
claim-birthcountry = País de nacimiento
claim-preferred-username = Nombre de uso habitual
claim-email = Correo electrónico
claim-name = Nombre completo
claim-middle-name = Segundo nombre
claim-nickname = Apodo
claim-profile = Página de perfil
claim-picture = Foto
claim-website = Sitio web
claim-zoneinfo = Zona horaria
claim-locale = Idioma
claim-updated-at = Última modificación del perfil
claim-email-verified = Correo electrónico verificado
claim-phone-number = Número de teléfono
claim-phone-number-verified = Número de teléfono verificado
claim-address = Dirección postal
value-yes = Sí
value-no = No
gender-female = mujer
gender-male = hombre
gender-unspecified = no especificado

## Errors: what happened

error-bad-request = La solicitud del servicio no es correcta.
error-not-found = Esta página no existe.
error-method = Esta página no se puede utilizar de este modo.
error-timeout = La solicitud ha tardado demasiado en llegar.
error-too-large = La solicitud es demasiado grande.
error-unknown-host = Esta dirección no es la correcta.
error-internal = Se ha producido un error por nuestra parte.
error-unavailable = Nuestro servicio no está disponible durante unos instantes.
error-busy = Demasiadas personas están iniciando sesión en este momento.
error-network-limited = Desde su red se ha intentado iniciar sesión demasiadas veces en un minuto.
error-service-limited = El servicio ha pedido demasiados inicios de sesión en un minuto.
error-register = El registro nacional no ha podido confirmar su identidad.
error-register-unavailable = El registro nacional no responde.
error-identity-incomplete = En su cuenta falta un dato necesario.
error-identity-malformed = Un dato de su cuenta no se puede leer.
error-idp-unavailable = Esta cuenta no se puede utilizar.
error-idp-trouble = La entidad que gestiona esta cuenta tiene un problema técnico.
error-hub-clock = El reloj de este sitio de inicio de sesión está mal ajustado, por lo que ahora no puede iniciar sesión. Su responsable debe corregirlo.
error-idp-busy = Demasiadas personas están utilizando esta cuenta en este momento.
error-idp-denied = El inicio de sesión se ha detenido antes de terminar.
error-password-change = Su contraseña es correcta, pero tiene que cambiarla antes de poder iniciar sesión aquí.
error-account-disabled = Su contraseña es correcta, pero esta cuenta está cerrada o ha caducado. Diríjase a la entidad que gestiona esta cuenta.
error-account-hours = Su contraseña es correcta, pero esta cuenta no se puede usar a esta hora. Vuelva a intentarlo más tarde o diríjase a la entidad que gestiona esta cuenta.
error-account-not-permitted = Su contraseña es correcta, pero esta cuenta no tiene permiso para iniciar sesión aquí. Diríjase a la entidad que gestiona esta cuenta.
error-account-refused = Su contraseña no se ha comprobado, porque esta cuenta no se puede utilizar: puede estar bloqueada o cerrada. Diríjase a la entidad que gestiona esta cuenta.
error-assurance = El inicio de sesión no es lo bastante seguro para este servicio.
error-login-unknown = Este inicio de sesión no existe o ya no existe.
error-login-other-browser = Este inicio de sesión se empezó en otro navegador, o este navegador ha perdido sus cookies.
error-idp-answer = La respuesta de la entidad que gestiona esta cuenta no se puede utilizar.
error-login-order = Ha continuado en otra pestaña.
error-login-done = Este inicio de sesión ya ha terminado.
error-login-expired = Este inicio de sesión ha durado demasiado.
error-login-too-many = Este inicio de sesión se ha cerrado: había demasiados abiertos.
error-repeated-cookie = Su navegador ha enviado dos veces la misma cookie de este sitio. Por seguridad, no se ha hecho nada.
error-idp-blocked = El inicio de sesión con esta cuenta está suspendido en este momento.
error-idp-blocked-for-service = El inicio de sesión en este servicio con esta cuenta está suspendido en este momento.
error-idp-reauthentication = Este servicio exige que inicie sesión de nuevo, y esta cuenta no puede demostrar que lo ha hecho.
error-redirect-withdrawn = El servicio ha cambiado de dirección durante su inicio de sesión. No se ha enviado nada al servicio.
error-scope-withdrawn = El servicio ya no puede recibir estos datos.
error-gate = Esta cuenta no se puede utilizar para este servicio.
error-login-interrupted = El inicio de sesión se ha interrumpido.
error-cancelled = Ha cancelado el inicio de sesión.
error-refused = No ha aceptado que se envíen sus datos.
error-login-required = Debe iniciar sesión para continuar.
error-consent-required = Se necesita su consentimiento para continuar.
error-mail-address = Para este inicio de sesión se necesita un código por correo electrónico, y su cuenta no tiene ninguna dirección de correo electrónico.
error-mail-address-unusable = Para este inicio de sesión se necesita un código por correo electrónico, y no podemos enviar mensajes a la dirección de su cuenta.
error-mail-unreadable = Para iniciar sesión con esta cuenta necesita el código que le enviamos por correo electrónico.
error-mail-code-wrong = Se han introducido demasiados códigos incorrectos.
error-mail-limited = Se han enviado o introducido demasiados códigos para esta cuenta. Vuelva a intentarlo más tarde.
error-mail-unavailable = En este momento no podemos enviarle un código por correo electrónico.
error-csrf = Por seguridad, este formulario no se ha aceptado.

## Errors: who can fix it, and what to do next

responsible-user = No se ha perdido nada: puede empezar de nuevo.
responsible-user-other = Puede iniciar sesión con otra cuenta o volver al servicio.
responsible-register = Es posible que los datos de su cuenta difieran de los del registro, por ejemplo sus nombres o su fecha de nacimiento. Pida a la entidad que gestiona su cuenta que los compruebe, o utilice otra cuenta.
register-correction = Si el error está en el propio registro, se corrige aquí:
responsible-identity = Pida a la entidad que gestiona su cuenta que la complete o la corrija, o utilice otra cuenta.
responsible-mailbox = Si este buzón de correo ya no es suyo, pida ayuda: la dirección antigua se puede eliminar.
responsible-cookies = Permita las cookies de este sitio. Después, vuelva al sitio del servicio e inicie sesión de nuevo, sin cambiar de navegador.
responsible-repeated-cookie = Abra una ventana privada de su navegador, vaya al sitio del servicio e inicie sesión allí. Para volver a usar una ventana normal, borre las cookies de este sitio en los ajustes de su navegador.
responsible-newer-tab = Continúe en la pestaña o ventana que abrió en último lugar. Puede cerrar esta.
responsible-connection = Es posible que su conexión a internet sea lenta. Compruébela e inténtelo de nuevo.
responsible-user-continue = No se ha perdido nada: puede continuar.
responsible-other-tab = Lo que ha hecho aquí pertenece a un paso anterior. No se ha perdido nada: continúe aquí o en la otra pestaña.
responsible-finished = Lo terminó aquí o en otra pestaña. Puede cerrar esta página. Para iniciar sesión de nuevo, empiece desde el servicio.
retry-later = No se ha perdido nada. Vuelva a intentarlo dentro de unos minutos.
retry-wait = { $seconds ->
    [one] No se ha perdido nada. Podrá intentarlo de nuevo dentro de { $seconds } segundo.
   *[other] No se ha perdido nada. Podrá intentarlo de nuevo dentro de { $seconds } segundos.
}
retry-auto = Esta página lo intentará entonces por sí sola.
retry-auto-later = Esta página también lo intenta varias veces por sí sola.
retry-stop = No intentarlo automáticamente
responsible-service = Solo el servicio del que viene puede resolverlo. Facilítele las referencias que figuran al final de la página.
responsible-provider = Debe resolverlo la entidad que gestiona su cuenta. Facilítele las referencias que figuran al final de la página. Puede que otra cuenta funcione.
responsible-answer = No es culpa del servicio: la entidad que gestiona la cuenta ha enviado una respuesta incorrecta, o una respuesta a un intento anterior. Puede continuar con su inicio de sesión; puede que otra cuenta funcione.
responsible-answer-alone = No es culpa del servicio: la entidad que gestiona la cuenta ha enviado una respuesta incorrecta, y no hay ningún inicio de sesión en curso en este navegador. Puede cerrar esta página y volver al sitio web del servicio.
responsible-operator = Nos corresponde a nosotros resolverlo. Vuelva a intentarlo dentro de unos minutos.
error-no-way = Puede cerrar esta página y volver al sitio web del servicio.
support-link = Pedir ayuda
error-claim = Dato afectado: { $claim }.
error-service = Servicio: «{ $service }»
error-account = Cuenta: «{ $provider }»
action-again = Volver a intentarlo
action-continue = Continuar el inicio de sesión
action-other = Elegir otra cuenta
action-service = Volver a «{ $service }»
action-service-unnamed = Volver al servicio
action-home = Empezar de nuevo desde «{ $service }»
action-home-unnamed = Empezar de nuevo desde el servicio
action-sign-out = Cerrar sesión aquí
refs-title = Datos para la asistencia
refs-code = Código
refs-precise = Segundo código
refs-support = Referencia
refs-time = Fecha
refs-developer = Para el equipo técnico del servicio

## Return to the service, signed out

return-title = Vuelta al servicio
return-lead = Va a volver a «{ $service }». Si no ocurre nada, utilice el botón.
return-go = Continuar
log-out-title = ¿Desea cerrar la sesión?
log-out-requested = «{ $service }» le propone cerrar la sesión.
log-out-account = Aquí ha iniciado sesión con su cuenta «{ $provider }». Una vez cerrada la sesión, cada servicio le pedirá que la inicie de nuevo.
log-out-no-session = Parece que nadie ha iniciado sesión aquí en este navegador. Para mayor seguridad, puede cerrar la sesión de todos modos.
log-out-go = Cerrar sesión
log-out-stay = Mantener la sesión y volver a «{ $service }»
log-out-close = Para mantener la sesión abierta, simplemente cierre esta página.
landing-title = Un inicio de sesión para muchos servicios
landing-go = En esta página no se inicia sesión. Vaya al sitio del servicio que desea utilizar y elija allí iniciar sesión: le traerá de vuelta aquí.
landing-shared = ¿Ha utilizado un dispositivo compartido? Cierre aquí la sesión antes de dejarlo.
logged-out-title = Ha cerrado la sesión
logged-out-lead = Su sesión aquí ha terminado.
logged-out-provider = También se ha cerrado la sesión de su cuenta «{ $provider }».
logged-out-services = Los servicios que ha utilizado pueden mantener su sesión abierta. Ciérrela también en cada uno de ellos:
logged-out-unreached = No se ha podido avisar a «{ $provider }». Para mayor seguridad, cierre también la sesión de esa cuenta o cierre el navegador.
logged-out-start = Ir a la página de inicio

## Sandbox

sandbox-ribbon = Entorno de pruebas: aquí nada es real
sandbox-title = ¿Quién quiere ser?
sandbox-lead = «{ $provider }» es una cuenta de prueba. Elija una persona y lo que debe ocurrir.
sandbox-person = Persona
sandbox-level = Seguridad del inicio de sesión
sandbox-level-too-low = Menor que la pedida: se rechazará
sandbox-methods = Medios utilizados
sandbox-failure = ¿Qué debe ocurrir?
sandbox-go = Iniciar sesión

## Demonstration service

demo-title = Pruebe un inicio de sesión
demo-lead = Este servicio ficticio muestra un inicio de sesión completo y, después, todo lo que ha recibido. Ningún dato es real.
demo-step-1 = Usted elige una cuenta de prueba.
demo-step-2 = Usted elige quién ser.
demo-step-3 = Usted ve lo que recibe el servicio.
demo-standard = Plataforma estándar
demo-standard-lead = La identidad procede del registro nacional. Los tokens están firmados.
demo-high = Plataforma de nivel alto
demo-high-lead = La identidad procede de la entidad que gestiona la cuenta. Los tokens están firmados y después cifrados: solo este servicio puede leerlos.
demo-sign-in-eidas1 = Iniciar sesión: nivel bajo (eidas1)
demo-sign-in-eidas2 = Iniciar sesión: nivel sustancial (eidas2)
demo-sign-in-eidas3 = Iniciar sesión: nivel alto (eidas3)
demo-in-title = Ha iniciado sesión
demo-in-lead = Esto es todo lo que el servicio ha recibido, una vez comprobado.
demo-claims = Datos recibidos
demo-in-encrypted = Los dos tokens han llegado cifrados; la clave privada del servicio los ha descifrado.
demo-id-token = Token de identidad
demo-jwe-header = Cabecera del cifrado (JWE)
demo-header = Cabecera de la firma (JWS)
demo-payload = Contenido
demo-userinfo = Datos de la persona (userinfo)
demo-data = Lo que averigua un proveedor de datos
demo-data-lead = El servicio lo ha llamado con el token de acceso, y el proveedor de datos ha preguntado al hub de quién es ese token.
demo-token-answer = Respuesta del endpoint de tokens
demo-sign-out = Cerrar sesión
demo-sign-in-again = Iniciar sesión de nuevo
demo-error-title = El inicio de sesión ha fallado
demo-error-lead = El servicio ha recibido esta respuesta en lugar de un inicio de sesión.
demo-wallet-title = Cartera de demostración
demo-wallet-lead = Los documentos de esta cartera son ficticios. «{ $hub }» pide:
demo-wallet-agree = Aceptar y enviar
demo-wallet-decline = Rechazar
demo-error-code = Error
demo-error-description = Descripción
demo-refused-lead = El servicio ha recibido una respuesta de la que no puede fiarse, o ninguna. No ha utilizado nada de ella.
demo-refused-reason = Motivo
sandbox-level-eidas1 = Bajo (eidas1)
sandbox-level-eidas2 = Sustancial (eidas2)
sandbox-level-eidas3 = Alto (eidas3)
sandbox-failure-none = Todo va bien
sandbox-failure-cancel = La persona abandona
sandbox-failure-error = La entidad que gestiona la cuenta sufre una avería
sandbox-failure-missing-claim = La identidad llega sin fecha de nacimiento
sandbox-failure-unknown-person = El registro no conoce a esta persona
sandbox-failure-level-too-low = El inicio de sesión es menos seguro de lo pedido
demo-sign-in-consent = Iniciar sesión y dar el consentimiento (eidas1)
demo-methods = Cómo ha iniciado sesión la persona
demo-method-mark = Marca del hub
demo-out-title = Ha cerrado la sesión
demo-out-lead = Lo que ha terminado, hasta donde un servicio puede saberlo:
demo-out-service = Este servicio: su sesión ha terminado.
demo-out-hub = El hub: su sesión ha terminado. Ha devuelto el navegador con el «state» de este cierre de sesión.
demo-out-hub-unknown = El hub: no se sabe. No ha devuelto el navegador.
demo-out-provider = La entidad que gestiona la cuenta: el hub envía allí el navegador para cerrar la sesión, donde es posible. El servicio no recibe ninguna confirmación.
demo-out-provider-unknown = La entidad que gestiona la cuenta: no se sabe.
demo-next = Lo siguiente que puede ver:
demo-next-start = inicie sesión. Al elegir la cuenta, una está bloqueada y otra no responde: vea lo que se muestra a la persona. Más información en { $page }
demo-next-in = la consola del operador cuenta este inicio de sesión y no muestra ningún nombre. Para iniciar sesión desde una aplicación propia, consulte { $page }
demo-next-out = inicie sesión de nuevo: vuelve a elegir la cuenta y la persona, porque no queda ninguna sesión. Más información en { $page }
demo-next-error = si una página ha mostrado una referencia, búsquela en la consola del operador. Todos los códigos de error están en { $page }
demo-console-standard = Consola del operador, estándar
demo-console-high = Consola del operador, nivel alto
sandbox-next = en «¿Qué debe ocurrir?», elija un fallo y vea lo que reciben la persona y el servicio. Más información en { $page }
method-pwd = Contraseña
method-pin = PIN
method-kba = Preguntas personales
method-otp = Código de un solo uso
method-sms = SMS
method-tel = Llamada telefónica
method-hwk = Llave física
method-swk = Clave de software
method-sc = Tarjeta inteligente
method-pop = Prueba de una clave
method-face = Rostro
method-fpt = Huella dactilar
method-iris = Iris
method-retina = Retina
method-vbm = Voz
method-mail = Correo electrónico
method-geo = Ubicación
method-mca = Varios canales
method-rba = Evaluación del riesgo
method-user = Presencia de la persona
method-wia = Inicio de sesión de Windows
method-mfa = Varios factores

# What the operator has to say to everybody
notice-warning = Importante:
notice-more = Más información

## The pages about an OAuth error, for developers

oauth-error-title = El error { $error }
oauth-error-lead = Esta página está dirigida a quienes desarrollan o gestionan un servicio. El hub ha respondido con este error a una petición del servidor del servicio. Si solo quería iniciar sesión, vuelva al servicio.
oauth-error-causes = Causas posibles y qué hacer
oauth-error-precise = Esta página es la misma para cada una de estas causas, para no revelar ningún servicio; es posible que error_description diga más. El operador del hub puede encontrar la causa exacta en el registro, con la hora y su client_id.
oauth-error-documentation = Documentación para los servicios
oauth-error-invalid-request =
    Un parámetro falta, está vacío o se ha enviado dos veces: error_description lo nombra. Envíelo una sola vez.
    El cuerpo no es un formulario: envíelo como application/x-www-form-urlencoded.
    El cliente se autentica de dos maneras, por ejemplo en la cabecera y en el cuerpo: utilice solo la registrada.
oauth-error-invalid-client =
    El cliente se autentica con un método distinto del registrado. Muchas bibliotecas envían el secreto en la cabecera; el método por defecto del hub es client_secret_post, en el cuerpo.
    El secreto es incorrecto, ha caducado o todavía no es válido. Compárelo, sin espacios alrededor, y pida uno nuevo al operador si es necesario.
    El client_id es desconocido aquí o está desactivado: cada plataforma y cada entorno tienen el suyo.
    No se acepta una aserción firmada: compruebe su clave, su aud (el emisor), su exp y que su jti sea nuevo.
oauth-error-invalid-grant =
    El código es demasiado antiguo o ya se ha utilizado: canjéelo una sola vez, en cuanto llegue.
    El redirect_uri no coincide con el de la solicitud de autorización.
    El code_verifier pertenece a otro inicio de sesión: guárdelo en la sesión del navegador que empezó el inicio de sesión.
    El código se emitió para otro cliente, o el usuario ha cerrado la sesión entretanto.
oauth-error-unsupported-grant-type =
    El grant_type debe ser authorization_code, o refresh_token si el servicio está registrado para usar tokens de actualización (refresh tokens). Sin ellos, empiece un nuevo inicio de sesión: con prompt=none no se muestra ninguna página mientras dure la sesión.
oauth-error-temporarily-unavailable =
    El hub está sobrecargado o no puede obtener las claves de su jwks_uri: vuelva a intentarlo en breve, o después de Retry-After si la respuesta lo incluye.
    Ha habido demasiadas autenticaciones fallidas con su client_id: corrija las credenciales y después espere.
oauth-error-server-error =
    El hub ha tenido un error interno: comunique la hora y su client_id al operador del hub.

## Diagnostics of a sandbox hub, for developers

diagnostics-title = ¿Qué hace el hub con esta solicitud?
diagnostics-lead = Pegue la dirección a la que su servicio envía el navegador. El hub explica cada parámetro y no empieza ningún inicio de sesión.
diagnostics-result = Resultado
diagnostics-parameters = Parámetro por parámetro
diagnostics-url = Dirección de la solicitud de autorización
diagnostics-help = Desde https:// hasta el último parámetro. No se guarda ni se vuelve a mostrar.
diagnostics-go = Explicar
token-diagnostic-title = Por qué ha fallado la solicitud de tokens
token-diagnostic-lead = Esta página se puede abrir durante diez minutos. La causa exacta solo se da en un entorno de pruebas; en producción, su servicio no ve más que el error.
token-diagnostic-fix = Qué hacer
