import type { Meters } from '../../core/base/meters.ts'

interface AlertFigures {
  counts(): Readonly<Record<string, number>>
  deliveries: { readonly counts: Readonly<Record<string, number>> }
}

/** Upper bounds in seconds. */
const latenessBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300]

export function addAlertMeters(meters: Meters, evaluator: () => AlertFigures) {
  const evaluations = meters.counter('wellhead_alert_evaluations_total', 'Evaluations of alerts.', 'result')
  const lateness = meters.histogram(
    'wellhead_alert_lateness_seconds',
    'Time from when an evaluation was due until it was decided.',
    latenessBuckets,
  )
  const states = () => Object.entries(evaluator().counts())
  meters.gauge('wellhead_alerts', 'Alerts that this service evaluates.', states, 'state')
  const deliveries = () => Object.entries(evaluator().deliveries.counts)
  meters.count('wellhead_alert_deliveries_total', 'Attempts to deliver notifications.', deliveries, 'result')
  return {
    evaluated(result: 'ok' | 'failed', lateMs: number): void {
      evaluations.inc({ result })
      lateness.observe(lateMs / 1000)
    },
  }
}
