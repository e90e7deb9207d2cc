// Gets files of Debian packages without installing anything, and without root.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'

const KEYRINGS = ['gpg', 'pgp'].map((type) => `/usr/share/keyrings/debian-archive-keyring.${type}`)

/** Throws if this is not a machine that can download packages of Debian. */
export async function checkDebian() {
  const apt = await promisify(execFile)('apt-get', ['--version']).catch(() => undefined)
  if (!apt || !KEYRINGS.some(existsSync)) {
    throw new Error('Not a Debian-like machine: there is no apt-get, or no keyring of Debian.')
  }
}

/**
 * Extracts packages into a directory, from the first of the choices that one of the machine's own mirrors
 * has in full. A choice is a list of `package:architecture/suite`; apt verifies the signatures.
 */
export async function extractPackages(directory, choices) {
  const keyring = KEYRINGS.find(existsSync)
  const apt = `${directory}.apt`
  try {
    for (const deb of await download(apt, keyring, choices)) await run('dpkg-deb', ['-x', deb, directory])
  } finally {
    await fs.rm(apt, { recursive: true, force: true })
  }
}

async function download(apt, keyring, choices) {
  const sources = join(apt, 'sources.list')
  const options = [`Dir::State=${apt}/state`, 'Dir::State::Status=/dev/null', `Dir::Cache=${apt}/cache`]
  for (const name of ['state', 'cache']) await fs.mkdir(join(apt, name), { recursive: true })

  const listed = await aptGet(options, ['update', '--print-uris'])
  // The main archive's suites are one word; third-party ones match too, and fail on the signature.
  const mirrors = new Set([...listed.matchAll(/^'(.+)\/dists\/\w+\/InRelease'/gm)].map(([, uri]) => uri))
  options.push(`Dir::Etc::SourceList=${sources}`, 'Dir::Etc::SourceParts=-', 'APT::Architectures=arm64,amd64')
  options.push('Acquire::Languages=none', 'APT::Update::Error-Mode=any')
  const failures = []
  for (const mirror of mirrors) {
    for (const packages of choices) {
      const suites = new Set(packages.map((name) => name.split('/')[1]))
      const lines = [...suites].map((suite) => `deb [signed-by=${keyring}] ${mirror} ${suite} main\n`)
      await fs.writeFile(sources, lines.join(''))
      const archives = await fs.mkdtemp(join(apt, 'archives-'))
      try {
        await aptGet(options, ['update'])
        await aptGet(options, ['download', ...packages], archives)
        return (await fs.readdir(archives)).map((name) => join(archives, name))
      } catch (error) {
        failures.push(error.message)
      }
    }
  }
  throw new Error(`No mirror of this machine has what the engine needs.\n${failures.join('\n')}`)
}

function aptGet(options, args, cwd) {
  return run('apt-get', [...options.flatMap((option) => ['-o', option]), ...args], { cwd })
}

export async function run(command, args, options) {
  try {
    return (await promisify(execFile)(command, args, { maxBuffer: 2 ** 26, ...options })).stdout
  } catch (error) {
    const tail = (error.stderr || error.message).trimEnd().split('\n').slice(-12).join('\n')
    throw new Error(`${basename(command)} ${args.join(' ')} failed (${error.code ?? error.signal}):\n${tail}`)
  }
}
