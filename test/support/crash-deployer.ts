export interface CrashDeployerOptions {
  token: string
  /** Resolves when there is a service to talk to. */
  url: () => Promise<string>
  stopped: () => boolean
}

const names = ['crash.one', 'crash.two', 'crash.three']

/**
 * Deploys the same mark to several endpoints, one mark after the other, until it is told to stop. Looks at them in
 * between, and gives what it saw of every look, and the last mark that was acknowledged.
 */
export async function deployUntilStopped(
  options: CrashDeployerOptions,
): Promise<{ looks: string[][]; acknowledged: number }> {
  const looks: string[][] = []
  let acknowledged = 0
  for (let mark = 1; !options.stopped(); mark++) {
    const endpoints = names.map((name) => ({ name, description: `${mark}`, query: 'SELECT 1 AS n' }))
    const status = await ask(options, 'POST', '/api/deployments', { endpoints }).then(
      (response) => response.status,
      () => 0,
    )
    if (status === 200) acknowledged = mark
    const look = await descriptions(options).catch(() => undefined)
    if (look) looks.push(look)
  }
  return { looks, acknowledged }
}

/** What the endpoints of the deployer say now. */
export async function descriptions(options: Omit<CrashDeployerOptions, 'stopped'>): Promise<string[]> {
  const response = await ask(options, 'GET', '/api/endpoints')
  if (response.status !== 200) throw new Error(`answered with ${response.status}`)
  const list = (await response.json()) as { name: string; description: string }[]
  return list.filter(({ name }) => names.includes(name)).map(({ description }) => description)
}

async function ask(
  { url, token }: Omit<CrashDeployerOptions, 'stopped'>,
  method: string,
  path: string,
  body?: unknown,
): Promise<Response> {
  return fetch((await url()) + path, {
    method,
    headers: { 'X-API-KEY': token, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}
