import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { isLocked, ownerOf } from './embedded/directory-lock.ts'
import { EmbeddedNode, type EmbeddedNodeOptions } from './embedded/embedded-node.ts'
import { EngineStartError } from './embedded/host-protocol.ts'
import { storeOf } from './embedded/server-config.ts'
import { ServerEngine } from './server-engine.ts'

type EmbeddedEngineOptions = Omit<EmbeddedNodeOptions, 'database'>

export function storeDirectoryOf(dataDir: string): string {
  return storeOf(join(dataDir, 'engine'))
}

/** Throws if another process uses the data directory. The engine process notices that, too, but later. */
export function checkUnused(dataDir: string): void {
  const status = join(storeDirectoryOf(dataDir), 'status')
  const owner = ownerOf(status)
  if (owner === undefined || !isLocked(status)) return
  throw new EngineStartError('in-use', `Process ${owner} has it open.`)
}

/** Version of the package `chdb`, read without loading the engine. */
export function engineLibraryVersion(): string {
  const entry = createRequire(import.meta.url).resolve('chdb')
  const text = readFileSync(join(dirname(entry), 'package.json'), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

/** A ClickHouse server in a process of its own, which the service starts and supervises. */
export class EmbeddedEngine extends ServerEngine<EmbeddedNode> {
  protected readonly nodes: readonly [EmbeddedNode]

  constructor(options: EmbeddedEngineOptions) {
    super('wellhead', 'The engine is starting.')
    const owner = {
      onChange: (node: EmbeddedNode) => this.onChange(node),
      onFailure: (error: Error) => this.refuseWaiting(error),
    }
    this.nodes = [new EmbeddedNode({ ...options, database: this.database }, owner)]
  }

  get pid(): number | undefined {
    return this.nodes[0].pid
  }

  /** Resolves when the engine is ready; rejects with an EngineStartError if it cannot start. */
  async start(): Promise<void> {
    const [node] = this.nodes
    node.start()
    await this.whenReady(node.startWithinMs)
  }
}
