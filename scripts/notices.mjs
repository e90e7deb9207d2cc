/** Writes what the package has of others: the text of each license, and a bill of materials. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const readManifest = (directory) => JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))

/** `modules` are the paths of all modules in the bundles and the console. */
export function writeNotices(modules) {
  const directories = modules.map((id) => /^\0?(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1])
  const packages = [...new Set(directories.filter(Boolean))]
    .map((directory) => ({ directory, ...readManifest(directory) }))
    .sort((one, other) => compare(one.name, other.name) || compare(one.version, other.version))
  writeFileSync(join(root, 'dist/THIRD-PARTY-LICENSES.txt'), licensesOf(packages))
  writeFileSync(join(root, 'dist/sbom.cdx.json'), `${JSON.stringify(billOf(packages), null, 2)}\n`)
}

const compare = (one, other) => (one < other ? -1 : Number(one > other))

/** Copies must carry the text of each license. */
function licensesOf(packages) {
  const texts = packages.map(({ directory, name, version, license }) => {
    const file = readdirSync(directory).find((file) => /^licen[cs]e/i.test(file))
    return `${name} ${version} (${license})\n${file ? `\n${readFileSync(join(directory, file), 'utf8').trim()}\n` : ''}`
  })
  return `Wellhead contains code of these packages.\n\n${texts.join(`\n${'-'.repeat(80)}\n\n`)}`
}

/** A CycloneDX document of what is bundled, and of what npm installs beside it. It has no time, so that equal builds are equal. */
function billOf(packages) {
  const { name, version, license, description, dependencies } = readManifest(root)
  const installed = Object.keys(dependencies).map((one) => readManifest(join(root, 'node_modules', one)))
  const own = component({ name, version, license, description })
  const parts = [...packages, ...installed].map(component)
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { ...own, type: 'application' } },
    components: parts,
    dependencies: [{ ref: own['bom-ref'], dependsOn: parts.map((part) => part['bom-ref']) }],
  }
}

function component({ name, version, license, description }) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  const [group, base] = name.startsWith('@') ? name.split('/') : [undefined, name]
  const licenses = /\s(?:AND|OR|WITH)\s/.test(license)
    ? [{ expression: license }]
    : [{ license: { id: license } }]
  return {
    ...{ type: 'library', 'bom-ref': purl, ...(group && { group }), name: base, version },
    ...{ ...(description && { description }), ...(license && { licenses }), purl },
  }
}
