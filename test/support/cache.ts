import { engineUnavailable, WellheadError } from '../../src/core/base/errors.ts'
import type { Cacheable, CacheDirectives, CallResponse, RunFor } from '../../src/core/cache/cacheable.ts'
import { Result } from '../../src/core/cache/result.ts'
import { ResultCache, type ResultCacheOptions } from '../../src/core/cache/result-cache.ts'
import { type ManualTime, manualTime } from './manual-clock.ts'

/** A call of tests, which chooses how it is computed. */
export interface TestCall extends Cacheable {
  recipe: unknown
  compute?: () => Promise<Result>
}

export interface OpenCacheOptions extends Partial<ResultCacheOptions<TestCall>> {
  policy?: Cacheable['policy']
  key?: string
  time?: ManualTime
}

export interface PendingRun {
  key: string
  purpose: RunFor
  signal: AbortSignal
  land: (computed: Result) => void
  fail: (error: unknown) => void
}

const aDay = { cacheSeconds: 86_400, warmSeconds: null }

export function computedOf(body: string | Buffer, fields: Partial<Result> = {}): Result {
  const cost = { queueMs: 0, engineMs: 0, rowsRead: 0, bytesRead: 0 }
  const plain = { body: Buffer.from(body), contentType: 'text/plain', rows: 1, truncated: false }
  return new Result({ ...plain, ...cost, ...fields })
}

/** A cache whose runs end when the test calls `land` or `fail`, and whose responses are short texts. */
export function openCache(choices: OpenCacheOptions = {}) {
  const { policy = aDay, key = '7f'.repeat(32), time = manualTime(), ...options } = choices
  const failures: Parameters<ResultCacheOptions<TestCall>['onFailure']>[0][] = []
  const runs: PendingRun[] = []
  let values = 0
  const cache = new ResultCache<TestCall>({
    time,
    compute: (call, purpose, signal) =>
      call.compute?.() ??
      new Promise((land, fail) => {
        runs.push({ key: call.key, purpose, signal, land, fail })
        signal.addEventListener('abort', () => fail(signal.reason))
      }),
    recipeOf: ({ recipe }) => recipe,
    maxBytes: 2 ** 20,
    maxRefreshes: 2,
    busy: () => false,
    gatherMs: 0,
    onFailure: (failure) => failures.push(failure),
    ...options,
  })
  const request = (of: Partial<TestCall> = {}): TestCall => ({
    key,
    group: 'group',
    sources: new Set(['source']),
    policy,
    recipe: { key },
    ...of,
  })
  const land = (body = String(++values)) => runs.shift()?.land(computedOf(body))
  const fail = (error: unknown = engineUnavailable('away')) => runs.shift()?.fail(error)
  return {
    cache,
    time,
    runs,
    failures,
    request,
    call: (directives: CacheDirectives = {}, signal?: AbortSignal) =>
      textOf(cache.get(request({ directives, ...(signal && { signal }) })), signal),
    /** Ends the oldest run; its result is the next number. */
    land,
    fail,
    /** Waits for a request whose run succeeds. */
    async landed<T>(response: Promise<T>): Promise<T> {
      await settled()
      land()
      return response
    },
    /** Waits for a request whose run fails. */
    async failed<T>(response: Promise<T>, error?: unknown): Promise<T> {
      await settled()
      fail(error)
      return response
    },
  }
}

async function textOf(
  response: Promise<CallResponse | undefined>,
  signal: AbortSignal | undefined,
): Promise<string> {
  try {
    return describe(await response)
  } catch (error) {
    if (signal?.aborted) return 'left'
    return `error ${error instanceof WellheadError ? error.code : error}`
  }
}

function describe(response: CallResponse | undefined): string {
  if (response === undefined) return 'absent'
  const { outcome, result } = response
  const body = result.body.toString()
  switch (outcome.kind) {
    case 'uncached':
    case 'hit':
      return `${outcome.kind} ${body}`
    case 'stale':
      if (outcome.failure === undefined) return `stale ${body}`
      return `stale ${body}${outcome.failure.tried ? ' tried' : ''} because ${outcome.failure.code}`
    case 'computed': {
      const how = outcome.joined ? ' joined' : outcome.why === 'miss' ? '' : ' computed'
      return `${outcome.why}${how} ${body}${outcome.stored ? '' : ' not stored'}`
    }
  }
}

/** Waits until chains of promises have settled. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve()
}
