import type { FastifyInstance } from 'fastify'
import type { Core } from '../../core.ts'
import { readAlert } from './alert.ts'
import { alerts as alertKind } from './alert-kind.ts'
import type { AlertParts } from './alert-parts.ts'
import { alertTests } from './alert-tests.ts'
import { Evaluator } from './evaluator.ts'
import { mailerOf } from './mailer.ts'
import { addAlertMeters } from './meters.ts'
import { addAlertRoutes } from './routes.ts'
import { webhookSecrets } from './secrets.ts'
import { alertSettings } from './settings.ts'
import { alertsSource } from './source.ts'
import { listAlerts } from './tools.ts'

export type OpenAlerts = Awaited<ReturnType<typeof openAlerts>>

export async function openAlerts(core: Core) {
  const { engine, catalog, endpoints, calls, queue, time, log, settings, definitions, hooks, meters } = core
  const { alertHosts = [], alertKey, smtpUrl, smtpFrom } = core.settingsOf(alertSettings)
  const meter = addAlertMeters(meters, () => evaluator)
  const parts: AlertParts = {
    ...{ engine, catalog, endpoints, calls, time, log },
    alerts: core.items(alertKind, readAlert),
    engineSlots: queue.maxRunning,
    secrets: webhookSecrets(settings.dataDir, alertKey),
    rules: { allowedHosts: alertHosts },
    mailer: mailerOf(smtpUrl, smtpFrom),
    publicUrl: settings.publicUrl,
    storeEvents: core.appendTo(alertsSource.name),
    onEvaluated: meter.evaluated,
  }
  const evaluator: Evaluator = new Evaluator(parts)
  parts.alerts.follow((changes) => evaluator.changed(changes.map(({ item }) => item)))
  hooks.storeNotices = parts.storeEvents
  hooks.erasure.push({ forget: ({ project }) => evaluator.forget(project) })
  return {
    kinds: [{ ...alertKind, ...alertKind.open({ alertParts: parts, evaluator }) }],
    tools: [listAlerts(definitions)],
    routes: (server: FastifyInstance) =>
      addAlertRoutes(server, { definitions, alertTests: alertTests(parts, evaluator) }),
    start: () => evaluator.start(),
    stop: () => evaluator.stop(),
  }
}
