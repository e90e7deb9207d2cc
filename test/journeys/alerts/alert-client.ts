import { expect, vi } from 'vitest'
import { ask } from '../../support/callers.ts'
import type { ManualTime } from '../../support/manual-clock.ts'
import type { Received, Receiver } from '../../support/network/receiver.ts'
import type { RunningService } from '../../support/service.ts'

/** The newest level of a project. */
export const level = {
  name: 'signals.level',
  query:
    'SELECT argMax(metadata.level::Float64, timestamp) AS level, count() AS entries, @project AS who ' +
    'FROM signals WHERE project = @project AND timestamp <= @now',
  parameters: { project: { required: true } },
}

export const types = (requests: Received[]) => requests.map(({ body }) => body.type)

/** Where the journeys of alerts take place. */
export interface AlertStage {
  service: () => RunningService
  receiver: () => Receiver
  time: ManualTime
}

export type AlertClient = ReturnType<typeof alertClient>

export function alertClient({ service, receiver, time }: AlertStage) {
  const admin = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    ask(service(), service().adminToken.token, method, path, body, headers)

  /** Sets the level of a project. */
  async function send(project: string, value: number) {
    const entry = { project, metadata: { level: value }, timestamp: new Date(time.now()).toISOString() }
    const { body } = await admin('POST', '/api/logs?source=signals', [entry])
    expect(body.accepted).toBe(1)
    time.advance(1)
  }

  /** An alert on the level of a project of its name, which notifies a path of its name. */
  async function create(name: string, fields: Record<string, unknown> = {}) {
    const { status, body } = await admin('POST', '/api/alerts', {
      name,
      endpoint: level.name,
      parameters: { project: name },
      every_seconds: 5,
      when: 'any(level) >= 10',
      notify: [{ type: 'webhook', url: `${receiver().url}/${name}` }],
      ...fields,
    })
    expect([status, body]).toEqual([201, expect.anything()])
    await evaluated(name)
    return body
  }

  const show = async (name: string) => (await admin('GET', `/api/alerts/${name}`)).body
  const change = (name: string, fields: unknown) => admin('PATCH', `/api/alerts/${name}`, fields)

  /** Waits until it was evaluated at the current time or later. */
  function evaluated(name: string, sinceMs = time.now()) {
    return vi.waitFor(
      async () => {
        const alert = await show(name)
        expect(Date.parse(alert.evaluated_at)).toBeGreaterThanOrEqual(sinceMs)
        return alert
      },
      { interval: 50 },
    )
  }

  /** Lets the time of one interval pass, and returns the alert after its evaluation. */
  async function next(name: string, seconds = 5) {
    const since = time.now()
    time.advance(seconds * 1000)
    return evaluated(name, since + 1)
  }

  /** Lets time pass until a path has received this many requests. */
  const later = (path: string, count: number) =>
    vi.waitFor(
      () => {
        time.advance(5_000)
        expect(receiver().at(path).length).toBeGreaterThanOrEqual(count)
        return receiver().at(path)
      },
      { interval: 50 },
    )

  const becomes = (name: string, fields: object) =>
    vi.waitFor(async () => expect(await show(name)).toMatchObject(fields), { interval: 20 })

  async function runs(): Promise<number> {
    const text = (await admin('GET', '/metrics')).body as string
    return Number(/^wellhead_query_runs_total\{purpose="alert"\} (\d+)/m.exec(text)?.[1] ?? 0)
  }

  return { admin, send, create, show, change, evaluated, next, later, becomes, runs }
}
