import { FakedClock, needsForFakedClock } from '../faults/faked-clock.ts'
import { saveCountingEndpoints, storedIds } from '../load/counting.ts'
import { summaryOf, waitUntil } from '../load/responses.ts'
import { patienceMs } from '../support/patience.ts'
import type { Scenario } from '../support/scenario.ts'
import { openTarget, type Target } from '../support/target.ts'

const project = 'clock'
const hour = 3_600
/** Offsets of the clock in seconds. */
const steps = [0, hour, 0, -hour, 0, 24 * hour + 60, 0]
/** The service may have read the clock shortly before it was set. */
const slackMs = 2_000

const windowMinutes = 10
const endpoints = [
  {
    name: 'torture.window',
    query: `SELECT count() AS n FROM edge_logs WHERE project = @project AND timestamp > @now - INTERVAL ${windowMinutes} MINUTE AND timestamp <= @now`,
    parameters: { project: { required: true } },
  },
  {
    name: 'torture.long-cached',
    query: 'SELECT count() AS n FROM edge_logs WHERE project = @project',
    parameters: { project: { required: true } },
    cache_seconds: 900,
  },
  {
    name: 'torture.entry',
    query: 'SELECT max(timestamp) AS at, count() AS n FROM edge_logs WHERE project = @project AND id = @id',
    parameters: { project: { required: true }, id: { required: true } },
  },
]

export const clock: Scenario = {
  name: 'clock',
  title:
    'responses are correct and nothing hangs when the clock is set an hour back or forward, or a day forward',
  needs: needsForFakedClock,
  async run(run) {
    const rounds = run.cycles(5, 1)
    const faked = new FakedClock(run.directory)
    const target = await openTarget(run.directory, faked.environment)
    try {
      await saveCountingEndpoints(target)
      await deploy(target, endpoints)
      const checks = new ClockChecks(target, faked)
      await checks.prepare()
      for (let round = 0; round < rounds; round++) {
        for (const offset of steps) {
          faked.set(offset)
          await checks.step(offset)
        }
      }
      const stored = await storedIds(target, project)
      const duplicated = [...stored].filter(([, count]) => count !== 1)
      if (duplicated.length > 0)
        checks.faults.push(`stored twice: ${duplicated.map(([id]) => id).join(', ')}`)
      return {
        counts: { 'steps of the clock': rounds * steps.length, checks: checks.count },
        faults: checks.faults,
      }
    } finally {
      await target.close()
    }
  },
}

async function deploy(target: Target, list: object[]): Promise<void> {
  const body = JSON.stringify({ endpoints: list })
  await target.json('/api/deployments', {
    method: 'POST',
    body,
    headers: { 'Content-Type': 'application/json' },
  })
}

/** The checks after every step of the clock. */
class ClockChecks {
  readonly faults: string[] = []
  count = 0
  readonly #target: Target
  readonly #clock: FakedClock
  /** When each entry was sent, by the service's clock. */
  readonly #sentAt: number[] = []
  #number = 0
  #expiring = { token: '', expiresAt: 0 }
  #limited = ''
  readonly #begun = new Date(Date.now() - 2 * hour * 1000).toISOString()

  constructor(target: Target, clock: FakedClock) {
    this.#target = target
    this.#clock = clock
  }

  async prepare(): Promise<void> {
    const make = async (fields: object) => {
      const body = JSON.stringify({ scopes: ['query'], ...fields })
      const headers = { 'Content-Type': 'application/json' }
      return (
        await this.#target.json<{ token: string }>('/api/access-tokens', { method: 'POST', body, headers })
      ).token
    }
    const expiresAt = this.#clock.now() + (hour / 2) * 1000
    this.#expiring = { token: await make({ expires_at: new Date(expiresAt).toISOString() }), expiresAt }
    this.#limited = await make({ requests_per_minute: 3 })
  }

  async step(offset: number): Promise<void> {
    const step = `step ${++this.#number} (${offset} s)`
    await this.#send(step)
    await this.#refreshPart(step)
    await this.#sendKeyed(step)
    await this.#tokens(step)
    await this.#change(step)
  }

  #expect(holds: boolean, what: string): void {
    this.count++
    if (!holds) this.faults.push(what)
  }

  async #query<T>(name: string, parameters: Record<string, string> = {}): Promise<{ row: T; age: number }> {
    const query = new URLSearchParams({ project, ...parameters })
    const response = await this.#target.call(`/api/endpoints/query/${name}?${query}`, {
      signal: AbortSignal.timeout(patienceMs),
    })
    const { result } = (await response.json()) as { result: [T] }
    return { row: result[0], age: Number(response.headers.get('age') ?? 0) }
  }

  /** An entry without a timestamp gets the clock's, and windows that end now include it. */
  async #send(step: string): Promise<void> {
    const id = `at-${this.#number}`
    const begun = this.#clock.now()
    await this.#target.json('/api/logs?source=edge_logs', {
      method: 'POST',
      body: JSON.stringify([{ id, project }]),
    })
    const ended = this.#clock.now()
    const { row } = await this.#query<{ at: string }>('torture.entry', { id })
    const at = Date.parse(row.at)
    this.#sentAt.push(at)
    this.#expect(
      at >= begun - slackMs && at <= ended + slackMs,
      `${step}: sent at ${begun}, stored with timestamp ${at}`,
    )
    // Entries that are certainly in the window, and those that may be, depending on when the query ran.
    const windowMs = windowMinutes * 60_000
    const sure = this.#sentAt.filter(
      (ms) => ms > ended - windowMs + patienceMs && ms <= ended - slackMs,
    ).length
    const { n } = (await this.#query<{ n: number }>('torture.window')).row
    const now = this.#clock.now()
    const possible = this.#sentAt.filter(
      (ms) => ms > now - windowMs - patienceMs && ms <= now + slackMs,
    ).length
    this.#expect(
      n >= Math.max(1, sure) && n <= possible,
      `${step}: the window has ${n} entries; at most ${possible} are possible`,
    )
  }

  /** A cached result is used until it expires, and no longer. */
  async #refreshPart(step: string): Promise<void> {
    const stored = this.#number + (this.#number > 1 ? 1 : 0)
    const fresh = async () => (await this.#query<{ n: number }>('torture.cached-count')).row.n >= stored
    await waitUntil(`${step}: a result cached for 2 s to be refreshed`, fresh, patienceMs)
    this.count++
    const { age } = await this.#query('torture.long-cached')
    this.#expect(age >= 0 && age <= 900, `${step}: a result cached for 900 s is ${age} s old`)
  }

  /** An idempotency key stores once, whatever the clock says. */
  async #sendKeyed(step: string): Promise<void> {
    const { accepted } = await this.#target.json<{ accepted: number }>('/api/logs?source=edge_logs', {
      method: 'POST',
      body: JSON.stringify([{ id: 'keyed', project, timestamp: this.#begun }]),
      headers: { 'Idempotency-Key': 'one' },
    })
    const { n } = (await this.#query<{ n: number }>('torture.entry', { id: 'keyed' })).row
    this.#expect(accepted === 1 && n === 1, `${step}: the same key stored ${n} entries`)
  }

  /** Tokens expire by the clock, and a quota refuses requests for at most a minute. */
  async #tokens(step: string): Promise<void> {
    const call = async (token: string) =>
      summaryOf(
        this.#target.call(`/api/endpoints/query/torture.cached-count?project=${project}`, {
          headers: { 'X-API-KEY': token },
          signal: AbortSignal.timeout(patienceMs),
        }),
      )
    const { status } = await call(this.#expiring.token)
    const wanted = this.#clock.now() < this.#expiring.expiresAt ? 200 : 401
    this.#expect(status === wanted, `${step}: a token got ${status} instead of ${wanted}`)
    for (let calls = 0; calls < 5; calls++) {
      const { status: limited, retryAfter } = await call(this.#limited)
      const ok = limited === 200 || (limited === 429 && Number(retryAfter) >= 1 && Number(retryAfter) <= 60)
      this.#expect(ok, `${step}: a token with a quota got ${limited}, Retry-After ${retryAfter}`)
    }
  }

  /** The last change wins, whatever its time. */
  async #change(step: string): Promise<void> {
    await deploy(this.#target, [{ name: 'torture.step', description: step, query: 'SELECT 1 AS n' }])
    const { description } = await this.#target.json<{ description: string }>('/api/endpoints/torture.step')
    this.#expect(description === step, `${step}: the endpoint still has the description "${description}"`)
    const { status } = await summaryOf(this.#target.call('/ready'))
    this.#expect(status === 200, `${step}: /ready returned ${status}`)
  }
}
