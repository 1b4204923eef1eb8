{{- define "passerelle.selector" -}}
app.kubernetes.io/name: passerelle
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "passerelle.labels" -}}
{{ include "passerelle.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- /* The files of the configuration folder that need a restart. */}}
{{- define "passerelle.settings" -}}
passerelle.toml: |
  platform = {{ .Values.platform | quote }}
  base_url = "https://{{ required "host is required: the host of base_url" .Values.host }}"
  subject_key = { file = "secrets/subject.key", derivation = 2 }
  keys = "keys"
  {{- .Values.settings | nindent 2 }}
  {{- if .Values.redis.nodes }}

  [store.redis]
  mode = {{ .Values.redis.mode | quote }}
  nodes = {{ .Values.redis.nodes | toJson }}
  {{- if eq .Values.redis.mode "sentinel" }}
  primary = {{ .Values.redis.primary | quote }}
  {{- end }}
  password = { file = "secrets/redis.password" }
  encryption_keys = [{ file = "secrets/store.key" }]
  {{- .Values.redis.settings | nindent 2 }}
  {{- else if or .Values.autoscaling.enabled (gt (int .Values.replicas) 1) }}
  {{- fail "several hubs need a shared store: set redis.nodes, or one replica without autoscaling" }}
  {{- end }}
{{- range $name, $text := .Values.files }}
{{ $name }}: |
  {{- $text | nindent 2 }}
{{- end }}
{{- end }}
