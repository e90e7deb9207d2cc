import type { FastifyInstance } from 'fastify'
import type { CommandIo } from './cli/kit/command-io.ts'
import type { CommandManifest } from './cli/kit/command-manifest.ts'
import type { Finding } from './cli/kit/finding.ts'
import type { FeatureError } from './core/base/errors.ts'
import type { KeyFile } from './core/base/files/key-file.ts'
import type { CoreSetting, SettingRows, Settings } from './core/base/settings.ts'
import type { SourceDeclaration } from './core/catalog/built-in-sources.ts'
import type { OwnTable } from './core/catalog/own-tables.ts'
import type { Kind, KindForm } from './core/definitions/kind.ts'
import type { FeatureTag } from './core/http/openapi/tags.ts'
import type { ServiceTool } from './core/http/service-tool.ts'
import type { Core } from './core.ts'

/**
 * Everything a feature can add. The declaration is data: the command line, workspaces and documentation read it without a
 * service. It imports the code of the feature only when somebody uses it, because the command line starts with all declarations.
 */
export interface Feature<Opened extends OpenFeature = OpenFeature> {
  /** The name of its folder. */
  readonly name: string
  /** Its own settings, which stand after a setting of core in the help. */
  readonly settings?: { readonly after: CoreSetting; rows(): Promise<SettingRows> }
  /** Sources that it writes to. */
  readonly sources?: readonly SourceDeclaration[]
  /** Tables for its own state. */
  readonly tables?: () => Promise<readonly OwnTable[]>
  /** Files of the data directory with keys that the tables do not have. */
  readonly keyFiles?: readonly KeyFile[]
  /** Codes of its own errors. */
  readonly errors?: readonly FeatureError[]
  /** Parts of the API with its routes. Kinds have parts of their own. */
  readonly apiTags?: readonly FeatureTag[]
  readonly commands?: readonly CommandManifest[]
  /** Shapes, file forms and documentation of its kinds of definitions. */
  readonly kinds?: () => Promise<readonly KindForm[]>
  /** What `wellhead doctor` says about the settings, without a service. */
  readonly checkSettings?: (settings: Settings) => Promise<Finding[]>
  /** Sample data for `wellhead serve`. */
  readonly samples?: SampleData
  /** What a service gets of the feature. Features that stand earlier in the list are open already. */
  open?(core: Core): Promise<Opened>
}

/** A feature of a service. Each method is called once. */
export interface OpenFeature {
  readonly kinds?: readonly Kind[]
  /** Tools for agents. */
  readonly tools?: readonly ServiceTool[]
  routes?(server: FastifyInstance): void
  /** Removes what an earlier process left, before anything is read. */
  prepare?(): Promise<void>
  /** Reads what is stored. Sources and definitions are there, tokens are not. */
  load?(): Promise<void>
  /** Begins its work, as the last step before requests are served. */
  start?(): Promise<void> | void
  /** Ends its work, after a failed start as well. The engine still runs. */
  stop?(): Promise<void> | void
}

export interface SampleData {
  /** Name of the flag of `wellhead serve`. */
  readonly flag: string
  /** Description of the flag. */
  readonly description: string
  /** The page of the console that shows the data. */
  readonly page: string
  load(): Promise<FillService>
}

/** Fills a service with sample data until the service stops. */
export type FillService = (target: {
  url: string
  token: string
  /** A shell expression for the token. */
  shownToken: string
  io: CommandIo
  /** Counts usage at another time than now. */
  countUsageAt: (ms: number | undefined) => void
}) => Promise<void>
