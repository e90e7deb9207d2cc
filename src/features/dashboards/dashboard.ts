import { z } from 'zod'
import { must, text, trueOrFalse, valuesText, valueText } from '../../core/base/validation.ts'
import { readerOf } from '../../core/definitions/kind.ts'
import { definitionShape as endpointShape, seconds } from '../../core/endpoints/definition/definition.ts'

const maxItems = 24
const panelCharts = ['bars', 'lines', 'area', 'number', 'table'] as const

const twelve = must('a whole number from 1 to 12')
const width = z.int(twelve).min(1, twelve).max(12, twelve)
const list = must('a list of at most 20 columns')
const columns = z.array(text.max(200), list).max(20, list)
const chart = z.enum(panelCharts, must(`one of ${panelCharts.join(', ')}`))
const labels = z.record(z.string(), valueText, must('a list of values'))
const values = z.record(z.string(), valuesText, must('a list of values'))
const short = (description: string) => text.max(200).optional().describe(description)

const itemShape = z
  .strictObject(
    {
      endpoint: short('Name or id of the endpoint to call.'),
      parameters: values
        .optional()
        .describe('Its parameters: a value, or `@name` for a parameter of the dashboard.'),
      chart: chart.optional().describe('How the rows are shown. Default: chosen from the columns.'),
      x: short('Column of the x-axis. Default: chosen from the columns.'),
      y: columns.optional().describe('Columns to draw, or of the table. Default: chosen from the columns.'),
      series: short('Column whose values are the series.'),
      labels: labels.optional().describe('What columns are called. Default: the words of their names.'),
      markdown: text.max(20_000).optional().describe('Text in place of rows. HTML is shown as text.'),
      title: short('Title of the item.'),
      width: width
        .optional()
        .describe('Columns of twelve. Default: an equal share of what the row has left.'),
    },
    must('a list of fields, such as { endpoint: usage.api-counts }'),
  )
  .refine(({ endpoint, markdown }) => (endpoint === undefined) !== (markdown === undefined), {
    error: 'must have either endpoint or markdown',
  })

type DashboardItem = z.output<typeof itemShape>

const rowShape = z.strictObject(
  { items: z.array(itemShape, must('a list of items')).min(1, 'must have at least one item') },
  must('a list of fields, such as { items: […] }'),
)

/** What users write. */
export const dashboardShape = z.strictObject({
  name: endpointShape.shape.name.describe('Unique among dashboards.'),
  title: text.max(200).default('').describe('What the page shows. Default: the name.'),
  description: text.max(10_000).default('').describe('What the dashboard is for.'),
  parameters: endpointShape.shape.parameters.describe('Parameters that viewers choose, by name.'),
  rows: z
    .array(rowShape, must('a list of rows'))
    .refine((rows) => rows.flatMap(({ items }) => items).length <= maxItems, {
      error: `must have at most ${maxItems} items`,
    })
    .default([])
    .describe('Items from top to bottom, and in each row from left to right.'),
  refresh: z
    .union([z.literal('live'), seconds(86_400, 5)], must('live, or a number of seconds from 5 to 86400'))
    .nullable()
    .default(null)
    .describe('`live`, or how often panels are loaded again, in seconds. Null: only on request.'),
  published: trueOrFalse
    .default(false)
    .describe('Whether tokens with a project see it, if they may call all of its endpoints.'),
})

export type DashboardFields = z.output<typeof dashboardShape>
export type SavedDashboard = ReturnType<typeof readDashboard>

export const readDashboard = readerOf(dashboardShape)

export type Panel = DashboardItem & { endpoint: string }

/** Items that call an endpoint, each with its path in the definition. */
export function panelsOf({ rows }: Pick<DashboardFields, 'rows'>): { path: string; panel: Panel }[] {
  return rows.flatMap(({ items }, row) =>
    items.flatMap((item, index) =>
      item.endpoint === undefined ? [] : [{ path: `rows.${row}.items.${index}`, panel: item as Panel }],
    ),
  )
}
