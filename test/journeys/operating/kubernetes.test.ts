import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { readSettings } from '../../../src/core/base/settings.ts'
import { neededGrants } from '../../../src/core/engine/grants.ts'
import { loadSettings } from '../../../src/settings-table.ts'

const table = await loadSettings()
const repository = new URL('../../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, repository), 'utf8')
const load = createRequire(import.meta.url)

interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string }
  // biome-ignore lint/suspicious/noExplicitAny: the schemas check what is in it
  spec: any
}

interface Kustomization {
  resources: string[]
  replicas?: { name: string; count: number }[]
  configMapGenerator: { name: string; literals?: string[]; files?: string[]; behavior?: string }[]
}

const kustomizationOf = (directory: string): Kustomization =>
  parse(read(posix.join(directory, 'kustomization.yaml')))

/** The manifests of a directory and of those it builds on. */
function manifestsOf(directory: string): Manifest[] {
  const { resources, replicas = [] } = kustomizationOf(directory)
  const manifests = resources.flatMap((name) =>
    name.endsWith('.yaml')
      ? parseAllDocuments(read(posix.join(directory, name))).map((document) => document.toJS() as Manifest)
      : manifestsOf(posix.join(directory, name)),
  )
  for (const { name, count } of replicas) {
    const set = manifests.find(({ kind, metadata }) => kind === 'StatefulSet' && metadata.name === name)
    expect(set, `replicas of ${name}`).toBeDefined()
    if (set) set.spec.replicas = count
  }
  return manifests
}

const settingsOf = (directory: string) =>
  kustomizationOf(directory).configMapGenerator.flatMap(({ literals = [] }) =>
    literals.map((literal) => literal.split(/=(.*)/s).slice(0, 2) as [string, string]),
  )

const base = 'deploy/kubernetes'
const overlay = 'deploy/kubernetes/cluster'

/** The problems that the API server would report, by the schemas of Kubernetes. */
function problemsOf(manifest: Manifest): string[] {
  const { apiVersion, kind } = manifest
  const { [kind]: Model } = load(`kubernetes-models/${apiVersion}/${kind}`)
  try {
    new Model(manifest).validate()
    return []
  } catch (error) {
    return [`${kind} ${manifest.metadata.name}: ${(error as Error).message}`]
  }
}

describe.each([base, overlay])('%s', (directory) => {
  test('fits the schemas of Kubernetes', () => {
    const manifests = manifestsOf(directory)
    expect(manifests.flatMap(problemsOf)).toEqual([])
    // A schema that accepts anything would not show that.
    const broken = structuredClone(manifests.find(({ kind }) => kind === 'StatefulSet')) as Manifest
    broken.spec.template.spec.containers[0].ports[0].containerPort = 'http'
    expect(problemsOf(broken)).toHaveLength(1)
  })

  test('runs pods without rights, with probes and limits', () => {
    const sets = manifestsOf(directory).filter(({ kind }) => kind === 'StatefulSet')
    expect(sets.length).toBeGreaterThan(0)
    for (const { spec } of sets) {
      const pod = spec.template.spec
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      })
      for (const container of pod.containers) {
        expect(container).toMatchObject({
          startupProbe: expect.anything(),
          livenessProbe: expect.anything(),
          readinessProbe: expect.anything(),
          resources: { requests: expect.anything(), limits: { memory: expect.any(String) } },
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
        })
        const claims = spec.volumeClaimTemplates.map((claim: Manifest) => claim.metadata.name)
        const volumes = [...claims, ...(pod.volumes ?? []).map(({ name }: { name: string }) => name)]
        for (const { name } of container.volumeMounts) expect(volumes).toContain(name)
      }
    }
  })

  test('has valid settings, and selectors that find pods', () => {
    const settings = Object.fromEntries([...settingsOf(base), ...settingsOf(directory)])
    expect(readSettings(table, settings)).toHaveProperty('settings')
    const manifests = manifestsOf(directory)
    const labels = manifests
      .filter(({ kind }) => kind === 'StatefulSet')
      .map(({ spec }) => spec.template.metadata.labels)
    for (const { kind, spec } of manifests) {
      if (kind === 'Namespace') continue
      expect(labels).toContainEqual(spec.selector.matchLabels ?? spec.selector)
    }
  })
})

test('the service gets its user, its time to stop and its probes from the image', () => {
  const [set] = manifestsOf(base).filter(({ kind }) => kind === 'StatefulSet')
  const { spec } = (set as Manifest).spec.template
  const dockerfile = read('deploy/Dockerfile')
  expect(dockerfile).toContain(`USER ${spec.securityContext.runAsUser}:${spec.securityContext.runAsGroup}`)
  const finishWithinMs = Number(
    /finishWithinMs = ([\d_]+)/.exec(read('src/app.ts'))?.[1]?.replaceAll('_', ''),
  )
  expect(spec.terminationGracePeriodSeconds * 1000).toBeGreaterThan(finishWithinMs)
  expect(spec.containers[0].livenessProbe.httpGet.path).toBe('/health')
  expect(spec.containers[0].readinessProbe.httpGet.path).toBe('/ready')
})

test('the overlay has several services on one server, whose user has exactly the grants that they need', () => {
  const sets = manifestsOf(overlay).filter(({ kind }) => kind === 'StatefulSet')
  expect(sets.map(({ metadata, spec }) => [metadata.name, spec.replicas])).toEqual([
    ['wellhead', 3],
    ['clickhouse', 1],
  ])
  const granted = [...read(`${overlay}/users.xml`).matchAll(/<query>(.*)<\/query>/g)].map(
    ([, grant]) => grant,
  )
  expect(granted).toEqual(neededGrants('wellhead', undefined).map((grant) => `GRANT ${grant}`))
  const { host } = new URL(Object.fromEntries(settingsOf(overlay)).WELLHEAD_CLICKHOUSE_URL as string)
  const server = manifestsOf(overlay).find(
    ({ kind, metadata }) => kind === 'Service' && metadata.name === 'clickhouse',
  )
  expect(host).toBe(`${server?.metadata.name}:${server?.spec.ports[0].port}`)
})
