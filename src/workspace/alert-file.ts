import { stringify } from 'yaml'
import { z } from 'zod'
import { alertShape } from '../alerts/alert.ts'
import type { TextPosition } from '../base/files/yaml-fields.ts'
import { diffOf, type FileContent } from './deployment-plan.ts'

/** The name is that of the file, and a mute is set on the service. */
export const alertFileShape = alertShape.omit({ name: true, muted_until: true })

export interface WorkspaceAlert {
  file: string
  name: string
  fields: z.output<typeof alertFileShape>
  /** Where a field is written. */
  positionOf: (path: readonly PropertyKey[]) => TextPosition
}

export type ServerAlert = ReturnType<typeof readServerAlert>

/** The names become names of files, so the shape checks them. */
export function readServerAlert(view: { id: string; version: number }) {
  const { name, ...fields } = z.object({ name: alertShape.shape.name, ...alertFileShape.shape }).parse(view)
  return { id: view.id, version: view.version, name, fields }
}

/** The file of an alert, without fields that have their defaults. */
export function alertFile({ name, fields, file = `alerts/${name}.yaml` }: AlertContent): FileContent {
  const { endpoint, when, ...rest } = fields
  const defaults: Record<string, unknown> = alertFileShape.parse({ endpoint, when })
  const own = Object.entries(rest).filter(
    ([field, value]) => JSON.stringify(value) !== JSON.stringify(defaults[field]),
  )
  return {
    id: name,
    file,
    content: stringify({ endpoint, when, ...Object.fromEntries(own) }, { lineWidth: 0 }),
  }
}

type AlertContent = Pick<WorkspaceAlert, 'name' | 'fields'> & { file?: string }

/** An alert file, compared with the alert of the service that has the same name. */
export function compareAlert(alert: WorkspaceAlert, server: readonly ServerAlert[]) {
  const { name, file, fields } = alert
  const current = server.find((other) => other.name === name)
  const diff = diffOf(alertFile(alert), current && { ...current, content: alertFile(current).content })
  const action = diff === '' ? 'unchanged' : current ? 'updated' : 'created'
  return { name, file, fields, current, action, diff }
}
