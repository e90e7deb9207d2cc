import { natively } from '../../test/support/engines.ts'

export interface DeployerOptions {
  call: (path: string, init?: RequestInit) => Promise<Response>
  stopped: () => boolean
}

/** An emulated engine would do little else. */
const pauseMs = natively(0, 100)

const names = ['torture.one', 'torture.two', 'torture.three']

/**
 * Deploys several endpoints with the same number as description until it is stopped, and reads them after each
 * deployment. Returns the descriptions of each read and the last acknowledged number.
 */
export async function deployUntilStopped(
  options: DeployerOptions,
): Promise<{ snapshots: string[][]; acknowledged: number }> {
  const snapshots: string[][] = []
  let acknowledged = 0
  for (let number = 1; !options.stopped(); number++) {
    const endpoints = names.map((name) => ({ name, description: `${number}`, query: 'SELECT 1 AS n' }))
    const deployment = { method: 'POST', body: JSON.stringify({ endpoints }), headers: json }
    const status = await options.call('/api/deployments', deployment).then(
      (response) => response.status,
      () => 0,
    )
    if (status === 200) acknowledged = number
    const snapshot = await descriptions(options).catch(() => undefined)
    if (snapshot) snapshots.push(snapshot)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  return { snapshots, acknowledged }
}

const json = { 'Content-Type': 'application/json' }

/** Current descriptions of the deployed endpoints. */
export async function descriptions({ call }: Pick<DeployerOptions, 'call'>): Promise<string[]> {
  const response = await call('/api/endpoints')
  if (response.status !== 200) throw new Error(`/api/endpoints returned ${response.status}`)
  const list = (await response.json()) as { name: string; description: string }[]
  return list.filter(({ name }) => names.includes(name)).map(({ description }) => description)
}

/** Deployments must be atomic at every read, and acknowledged ones must persist. */
export function deploymentFaults(snapshots: string[][], last: string[], acknowledged: number): string[] {
  const partial = [...snapshots, last].filter(
    (snapshot) => new Set(snapshot).size > 1 || (snapshot.length !== 0 && snapshot.length !== 3),
  )
  return [
    ...partial.map((snapshot) => `a deployment was partly visible: ${JSON.stringify(snapshot)}`),
    ...(Number(last[0] ?? 0) < acknowledged
      ? [`deployment ${acknowledged} was acknowledged and is lost`]
      : []),
  ]
}
