import { randomUUID } from 'node:crypto'
import { versionConflict, WellheadError } from '../base/errors.ts'
import { targetKey } from './alert.ts'
import { type AlertAdmin, type FindEndpoint, writableFields } from './alert-admin.ts'
import type { SavedAlert, SavedAlerts } from './saved-alerts.ts'

/** Plans alerts of a deployment. They are found by their names. */
export class AlertDeployments {
  readonly #alerts: SavedAlerts
  readonly #admin: AlertAdmin

  constructor(alerts: SavedAlerts, admin: AlertAdmin) {
    this.#alerts = alerts
    this.#admin = admin
  }

  /** Endpoints of the same deployment can be used. */
  async plan(sent: readonly Record<string, unknown>[], endpoints: FindEndpoint) {
    const planned: Awaited<ReturnType<AlertDeployments['step']>>[] = []
    for (const [index, fields] of sent.entries()) {
      const step = await this.step(fields, endpoints).catch((error) => {
        throw named(error, fields, index)
      })
      planned.push(step)
    }
    return planned
  }

  async step({ expected_version: expected, ...sent }: Record<string, unknown>, endpoints: FindEndpoint) {
    const fields = writableFields(sent)
    const current = this.#alerts.list().find(({ definition }) => definition.name === fields.name)
    if (expected !== undefined && expected !== (current?.version ?? 0)) {
      throw versionConflict(String(expected), current?.version ?? 0)
    }
    // A mute is not part of the files.
    const kept = { muted_until: current?.definition.muted_until ?? null, ...fields }
    const { stored, created } = await this.#admin.prepare(kept, current, endpoints)
    const id = current?.id ?? randomUUID()
    const action = actionOf(current, stored)
    const version = (current?.version ?? 0) + (action === 'unchanged' ? 0 : 1)
    const { name } = stored.definition
    const notify = stored.definition.notify.map((target) => {
      const secret = created.get(targetKey(target))
      return { type: target.type, url: target.url, ...(secret !== undefined && { secret }) }
    })
    const change = { kind: 'alert', id, version, deleted: false, body: stored } as const
    return {
      view: { name, id, action, version, notify },
      change: action === 'unchanged' ? undefined : change,
    }
  }
}

function actionOf(current: SavedAlert | undefined, stored: Pick<SavedAlert, 'definition' | 'endpoint_id'>) {
  if (!current) return 'created' as const
  const text = ({ definition, endpoint_id }: typeof stored) => JSON.stringify([definition, endpoint_id])
  return text(current) === text(stored) ? ('unchanged' as const) : ('updated' as const)
}

/** Adds to an error which of the alerts it is about. */
function named(error: unknown, { name }: Record<string, unknown>, index: number): unknown {
  if (!(error instanceof WellheadError)) return error
  const place = `alerts.${index}`
  const { parameter, ...details } = error.details
  return new WellheadError(error, `${typeof name === 'string' ? name : place}: ${error.message}`, {
    details: { ...details, ...(parameter !== undefined && { parameter: `${place}.${parameter}` }) },
    cause: error,
  })
}
