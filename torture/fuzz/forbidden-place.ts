import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import type { Forbidden } from './sql-grammar.ts'

/** An address, a file to read and a file to write that SQL must never reach. `faults` reports if it did. */
export class ForbiddenPlace {
  readonly secret = 'what-only-the-file-says'
  #server: Server
  #visits = 0
  #directory: string

  private constructor(server: Server, directory: string) {
    this.#server = server
    this.#directory = directory
    server.on('connection', (socket) => {
      this.#visits++
      socket.destroy()
    })
  }

  static async open(directory: string): Promise<ForbiddenPlace> {
    mkdirSync(directory, { recursive: true })
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const place = new ForbiddenPlace(server, directory)
    writeFileSync(place.reached.file, `${place.secret}\n`)
    return place
  }

  get reached(): Forbidden {
    const { port } = this.#server.address() as { port: number }
    return {
      address: `127.0.0.1:${port}`,
      file: join(this.#directory, 'forbidden.txt'),
      outFile: join(this.#directory, 'written.txt'),
    }
  }

  faults(): string[] {
    const faults: string[] = []
    if (this.#visits > 0) faults.push(`SQL connected to an address ${this.#visits} times.`)
    if (existsSync(this.reached.outFile)) faults.push('SQL wrote a file.')
    return faults
  }

  close(): void {
    this.#server.close()
  }
}
