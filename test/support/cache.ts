import { manualTime } from '../../src/base/clock.ts'
import { engineUnavailable, WellheadError } from '../../src/base/errors.ts'
import type {
  CacheDirectives,
  CacheRequest,
  CacheResponse,
  ComputeRun,
} from '../../src/cache/cache-request.ts'
import type { Computed } from '../../src/cache/cached-result.ts'
import { ResultCache, type ResultCacheOptions } from '../../src/cache/result-cache.ts'

export interface OpenCacheOptions extends Partial<ResultCacheOptions> {
  policy: CacheRequest['policy']
  key?: string
}

interface HeldRun extends ComputeRun {
  key: string
  land: (computed: Computed | 'unchanged') => void
  fail: (error: unknown) => void
}

export function computedOf(body: string | Buffer): Computed {
  const shape = {
    contentType: 'text/plain',
    rows: 1,
    truncated: false,
    queueMs: 0,
    engineMs: 0,
    rowsRead: 0,
    bytesRead: 0,
  }
  return { body: Buffer.from(body), ...shape }
}

/** A cache whose runs end when they are told to, and whose answers are short texts. */
export function openCache({ policy, key = '7f'.repeat(32), ...options }: OpenCacheOptions) {
  const time = manualTime()
  const failures: Parameters<ResultCacheOptions['onFailure']>[0][] = []
  const runs: HeldRun[] = []
  let values = 0
  const cache = new ResultCache({
    time,
    maxBytes: 2 ** 20,
    maxRefreshes: 2,
    busy: () => false,
    gatherMs: 0,
    onFailure: (failure) => failures.push(failure),
    ...options,
  })
  const request = (of: Partial<CacheRequest> = {}): CacheRequest => ({
    key,
    group: 'group',
    policy,
    recipe: { key },
    compute: (run) =>
      new Promise((land, fail) => {
        runs.push({ ...run, key: of.key ?? key, land, fail })
        run.signal.addEventListener('abort', () => fail(run.signal.reason))
      }),
    ...of,
  })
  return {
    cache,
    time,
    runs,
    failures,
    request,
    call: (directives: CacheDirectives = {}, signal?: AbortSignal) =>
      told(cache.get(request({ directives, ...(signal && { signal }) })), signal),
    /** Ends the run that is the longest under way; its result is the next number. */
    land: (body = String(++values)) => runs.shift()?.land(computedOf(body)),
    fail: (error: unknown = engineUnavailable('away')) => runs.shift()?.fail(error),
  }
}

async function told(
  answer: Promise<CacheResponse | undefined>,
  signal: AbortSignal | undefined,
): Promise<string> {
  try {
    return textOf(await answer)
  } catch (error) {
    if (signal?.aborted) return 'left'
    return `error ${error instanceof WellheadError ? error.code : error}`
  }
}

function textOf(answer: CacheResponse | undefined): string {
  if (answer === undefined) return 'absent'
  const { outcome, result } = answer
  const body = result.body.toString()
  switch (outcome.kind) {
    case 'hit':
      return `hit ${body}`
    case 'stale':
      if (outcome.failure === undefined) return `stale ${body}`
      return `stale ${body}${outcome.failure.tried ? ' tried' : ''} because ${outcome.failure.code}`
    case 'computed': {
      const how = outcome.joined ? ' joined' : outcome.why === 'miss' ? '' : ' computed'
      return `${outcome.why}${how} ${body}${outcome.stored ? '' : ' not stored'}`
    }
  }
}

/** Lets promises that follow each other come to rest. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve()
}
