export interface DeployerOptions {
  call: (path: string, init?: RequestInit) => Promise<Response>
  stopped: () => boolean
}

const names = ['torture.one', 'torture.two', 'torture.three']

/**
 * Deploys the same mark to several endpoints, one mark after the other, until it is told to stop. Looks at them in
 * between, and gives what it saw of every look, and the last mark that was acknowledged.
 */
export async function deployUntilStopped(
  options: DeployerOptions,
): Promise<{ looks: string[][]; acknowledged: number }> {
  const looks: string[][] = []
  let acknowledged = 0
  for (let mark = 1; !options.stopped(); mark++) {
    const endpoints = names.map((name) => ({ name, description: `${mark}`, query: 'SELECT 1 AS n' }))
    const deployment = { method: 'POST', body: JSON.stringify({ endpoints }), headers: json }
    const status = await options.call('/api/deployments', deployment).then(
      (response) => response.status,
      () => 0,
    )
    if (status === 200) acknowledged = mark
    const look = await descriptions(options).catch(() => undefined)
    if (look) looks.push(look)
  }
  return { looks, acknowledged }
}

const json = { 'Content-Type': 'application/json' }

/** What the endpoints of the deployer say now. */
export async function descriptions({ call }: Pick<DeployerOptions, 'call'>): Promise<string[]> {
  const response = await call('/api/endpoints')
  if (response.status !== 200) throw new Error(`answered with ${response.status}`)
  const list = (await response.json()) as { name: string; description: string }[]
  return list.filter(({ name }) => names.includes(name)).map(({ description }) => description)
}

/** All or none, at every look: never two marks at once, nor some of the endpoints; and nothing acknowledged is gone. */
export function deploymentFaults(looks: string[][], last: string[], acknowledged: number): string[] {
  const torn = [...looks, last].filter(
    (look) => new Set(look).size > 1 || (look.length !== 0 && look.length !== 3),
  )
  return [
    ...torn.map((look) => `a deployment was seen in part: ${JSON.stringify(look)}`),
    ...(Number(last[0] ?? 0) < acknowledged
      ? [`deployment ${acknowledged} was acknowledged and is gone`]
      : []),
  ]
}
