import { readAlert } from '../alerts/alert.ts'
import { alerts as alertForm } from '../alerts/alert-kind.ts'
import { alertTests } from '../alerts/alert-tests.ts'
import { Evaluator } from '../alerts/evaluator.ts'
import { mailerOf } from '../alerts/mailer.ts'
import { webhookSecrets } from '../alerts/secrets.ts'
import { alertsSource } from '../catalog/built-in-sources.ts'
import { Items } from '../catalog/items.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { EndpointParts } from './create-endpoints.ts'
import { appendTo, type Storage } from './create-storage.ts'
import type { ServiceOptions } from './service-options.ts'

export type Alerts = ReturnType<typeof createAlerts>

/** Alerts on endpoints, their evaluation and their notifications. */
export function createAlerts(
  { settings, time, log }: ServiceOptions,
  storage: Storage,
  { calls, queue }: EndpointParts,
  metrics: Metrics,
) {
  const { engine, catalog, endpoints } = storage
  const alertParts = {
    alerts: new Items(catalog, alertForm, readAlert),
    engine,
    catalog,
    endpoints,
    calls,
    engineSlots: queue.maxRunning,
    time,
    log,
    secrets: webhookSecrets(settings.dataDir, settings.alertKey),
    rules: { allowedHosts: settings.alertHosts ?? [] },
    mailer: mailerOf(settings.smtpUrl, settings.smtpFrom),
    publicUrl: settings.publicUrl,
    storeEvents: appendTo(alertsSource, storage),
    onEvaluated: metrics.evaluated.bind(metrics),
  }
  const evaluator = new Evaluator(alertParts)
  return {
    alertParts,
    evaluator,
    tests: alertTests(alertParts, evaluator),
    figures: () => ({ states: evaluator.counts(), deliveries: evaluator.deliveries.counts }),
    start: () => evaluator.start(),
    stop: () => evaluator.stop(),
  }
}
