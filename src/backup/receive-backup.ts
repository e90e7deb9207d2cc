import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { extract } from 'tar-stream'
import { FixableProblem } from '../base/fixable-problem.ts'
import {
  checksumLine,
  checksumsName,
  isDataPath,
  type Manifest,
  manifestName,
  readManifest,
} from './manifest.ts'
import { StagedDirectory } from './staged-directory.ts'

/** A manifest is a few lines for each table. */
const maxManifestBytes = 16 * 2 ** 20

/** Unpacks an archive into a new directory, which is created only if the archive is complete and undamaged. */
export async function receiveBackup(
  archive: AsyncIterable<Uint8Array>,
  directory: string,
  onBytes: (bytes: number) => void = () => {},
): Promise<Manifest> {
  const staged = await StagedDirectory.create(directory)
  try {
    const manifest = await unpack(archive, staged, onBytes)
    await staged.commit()
    return manifest
  } catch (error) {
    await staged.abandon()
    throw error
  }
}

async function unpack(
  archive: AsyncIterable<Uint8Array>,
  staged: StagedDirectory,
  onBytes: (bytes: number) => void,
): Promise<Manifest> {
  const unpacker = extract()
  const source = Readable.from(archive)
  source.on('error', (error) => unpacker.destroy(error))
  source.pipe(unpacker)
  const hash = createHash('sha256')
  const totals = { files: 0, bytes: 0 }
  let checksums: string | undefined
  let manifest: Manifest | undefined
  // Stop the sender when unpacking ends.
  unpacker.once('close', () => source.destroy())
  for await (const entry of unpacker) {
    const { name, type } = entry.header
    const content = entry as AsyncIterable<Uint8Array>
    if (manifest !== undefined || type !== 'file') throw notABackup()
    if (name === manifestName) {
      const text = await readAll(content)
      await staged.write(name, Readable.from([text]))
      manifest = readManifest(text.toString())
    } else if (name === checksumsName && checksums === undefined) {
      checksums = (await staged.write(name, content, onBytes)).sha256
    } else if (isDataPath(name) && checksums === undefined) {
      const { sha256, bytes } = await staged.write(name, content, onBytes)
      hash.update(checksumLine(sha256, name))
      totals.files++
      totals.bytes += bytes
    } else throw notABackup()
  }
  if (manifest === undefined) {
    throw new FixableProblem('The backup is incomplete and was discarded. Try again.')
  }
  const received = hash.digest('hex')
  const same =
    received === checksums &&
    received === manifest.checksums_sha256 &&
    totals.files === manifest.files &&
    totals.bytes === manifest.bytes
  if (!same) throw new FixableProblem('The backup was damaged in transit and was discarded. Try again.')
  return manifest
}

function notABackup(): FixableProblem {
  return new FixableProblem('The response is not a backup of Wellhead.')
}

async function readAll(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of content) {
    length += chunk.length
    if (length > maxManifestBytes) throw notABackup()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
