import type { Command } from 'commander'
import { withArticle } from '../../core/base/text/with-article.ts'
import { addServiceAction, addServiceCommand } from './command.ts'
import { type CommandIo, confirm } from './command-io.ts'
import { type ListColumn, printList } from './output/print.ts'
import { apiPath, type ServiceClient } from './service-client.ts'

interface CommandsOfKind {
  /** Such as "endpoint". */
  noun: string
  /** In paths of the API, such as "endpoints". */
  folder: string
  /** Help of the argument that names a definition. */
  reference: string
}

interface ListCommand<View> {
  /** Completes "list endpoints". */
  details?: string
  columns: readonly ListColumn<View>[]
  examples: readonly string[]
}

interface ShowCommand<View, More> {
  /** Completes "show an endpoint". */
  details?: string
  example: string
  /** Reads what a view does not have. */
  more?: (client: ServiceClient, view: View) => Promise<More>
  print: (view: View & More) => Promise<void>
}

interface DeleteCommand {
  /** Deleted with the definition, such as "rows". */
  contents: string
  example: string
  /** Whether a request must repeat the name. */
  repeatsName?: boolean
}

/** Commands that are alike for all kinds of definitions. A kind adds those that it has, in the order of its help. */
export function definitionCommands<View extends { name: string }>(
  parent: Command,
  io: CommandIo,
  { noun, folder, reference }: CommandsOfKind,
) {
  const read = (client: ServiceClient, name: string) => client.json<View>('GET', apiPath(folder, name))
  /** Adds a command for one definition. */
  const command = (name: string, description: string) =>
    addServiceCommand(parent, name, description).argument('<name>', reference)
  return {
    read,
    command,

    list({ details = '', columns, examples }: ListCommand<View>): void {
      addServiceAction(addServiceCommand(parent, 'list', `list ${folder}${details}`), io, {
        examples,
        request: (client) => client.json<View[]>('GET', apiPath(folder)),
        print: (views) => printList(io, columns, views, `No ${folder}.`),
      })
    },

    show<More>({ details = '', example, more, print }: ShowCommand<View, More>): void {
      const show = command('show', `show ${withArticle(noun)}${details}`)
      addServiceAction<[string], View & More>(show, io, {
        examples: [example],
        async request(client, name) {
          const view = await read(client, name)
          return { ...view, ...(await more?.(client, view)) } as View & More
        },
        print,
      })
    },

    delete({ contents, example, repeatsName = false }: DeleteCommand): void {
      const remove = command('delete', `delete ${withArticle(noun)} and its ${contents}`)
      addServiceAction(remove.option('--yes', 'do not ask for confirmation'), io, {
        examples: [example],
        async request(client, reference: string, { yes }: { yes?: true }) {
          const { name } = await read(client, reference)
          await confirm(io, `The ${noun} ${name} and all its ${contents} will be deleted.`, yes)
          await client.request(
            'DELETE',
            apiPath(folder, name),
            repeatsName ? { query: { confirm: name } } : {},
          )
          await io.stderr.write(`Deleted ${name}.\n`)
        },
      })
    },
  }
}
