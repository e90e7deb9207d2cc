import { stringify } from 'yaml'
import { type AlertFields, alertShape } from '../alerts/alert.ts'
import type { TextPosition } from '../base/files/yaml-fields.ts'
import { type FileProblem, readYamlFile } from './file-problem.ts'

export interface WorkspaceAlert {
  file: string
  fields: AlertFields
  /** Where a field is written. */
  positionOf: (path: readonly PropertyKey[]) => TextPosition
}

/** The name is that of the file, and a mute is set on the service. */
const fileShape = alertShape.omit({ name: true, muted_until: true })

export function readAlertFile(
  file: string,
  name: string,
  content: string,
): WorkspaceAlert | { problems: FileProblem[] } {
  const parsedName = alertShape.shape.name.safeParse(name)
  if (!parsedName.success) {
    const reason = parsedName.error.issues[0]?.message ?? 'is invalid'
    return { problems: [{ file, line: 1, column: 1, message: `The alert name ${reason}.` }] }
  }
  const reading = readYamlFile(file, content, fileShape, 'endpoint: usage.api-counts')
  if ('problems' in reading) return reading
  const fields = { ...reading.value, name, muted_until: null }
  return { file, fields, positionOf: (path) => reading.yaml.positionOf(path) }
}

/** The text of an alert's file, without fields that have their defaults. */
export function formatAlert(fields: AlertFields): string {
  const { name: _, muted_until: _until, ...written } = fields
  const { endpoint, when } = fields
  const defaults = fileShape.parse({ endpoint, when }) as Record<string, unknown>
  const own = Object.entries(written).filter(
    ([field, value]) =>
      field === 'endpoint' || field === 'when' || JSON.stringify(value) !== JSON.stringify(defaults[field]),
  )
  return stringify(Object.fromEntries(own), { lineWidth: 0 })
}

/** The fields of an alert as the API returns it, in the order of the shape. */
export function fieldsOfView(view: Readonly<Record<string, unknown>>): AlertFields {
  const own = Object.keys(alertShape.shape).map((field) => [field, view[field]])
  const fields = Object.fromEntries(own) as { notify: { type: string; url: string }[] }
  const notify = fields.notify.map(({ type, url }) => ({ type, url }))
  return alertShape.parse({ ...fields, notify })
}
