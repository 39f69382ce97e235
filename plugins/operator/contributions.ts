/** Contributions of plugins for operators: each adds its part at its setup, and endpoints of
 *  operators use the parts, since no plugin imports another. One object per process. */
import type { HostBase, Json } from '../../engine/plugin.ts'
import type {
  AlertRow,
  AlertRules,
  AlertTestRow,
  BatchRow,
  CachePurgeRow,
  CacheRow,
  ConsentRow,
  MirrorReportRow,
  PausedUpstream,
  TaskRow,
  TaskView,
} from '../views.ts'
import { fault } from './faults.ts'
import type { Context } from './operation.ts'

type Fields = { readonly [name: string]: Json }
/** The columns of tasks in lists, without the name of the account. */
export type TaskSummary = Omit<TaskRow, 'account_name'>
interface BatchFilter {
  /** A name or number. */
  readonly account?: string | undefined
  readonly state?: string | undefined
}
/** Rejects with the faults of `tollgate tasks`. */
export interface TaskPart {
  /** The latest ones, newest first. */
  list(host: HostBase, state: string | null): Promise<readonly TaskSummary[]>
  show(host: HostBase, id: string): Promise<TaskView>
  retry(context: Context, id: string): Promise<TaskSummary>
  cancel(context: Context, id: string): Promise<TaskSummary>
  resolve(context: Context, id: string, isCharged: boolean): Promise<TaskSummary>
  /** Submits no more tasks to an upstream, or submits them again. Resolves to those that are
   *  paused. */
  pause(context: Context, upstream: string): Promise<readonly PausedUpstream[]>
  resume(context: Context, upstream: string): Promise<readonly PausedUpstream[]>
}
/** Rejects with the faults of `tollgate batches`. */
export interface BatchPart {
  /** The latest ones, newest first. */
  list(host: HostBase, filter: BatchFilter): Promise<readonly BatchRow[]>
  show(host: HostBase, id: string): Promise<BatchRow & { readonly batch: Fields }>
  cancel(context: Context, id: string): Promise<BatchRow>
}
/** The work of `tollgate alerts`, by the plugin `alerts`. */
export interface AlertPart {
  /** Firing ones first. */
  list(host: HostBase): Promise<readonly AlertRow[]>
  rules(host: HostBase): Promise<AlertRules>
  /** Sends a message to every receiver. */
  test(context: Context): Promise<readonly AlertTestRow[]>
}
/** The work of `tollgate journal`, by the plugin `journal`. */
export interface JournalPart {
  list(host: HostBase): Promise<readonly ConsentRow[]>
  /** The account may be deleted: it has no consent then. */
  consent(
    context: Context,
    account: { readonly id: number; readonly name: string },
    isGiven: boolean,
  ): Promise<ConsentRow>
}
/** The work of `tollgate cache`, by the plugin `cache`. */
export interface CachePart {
  show(host: HostBase): Promise<CacheRow>
  /** Undefined: of all accounts, or models. */
  purge(
    context: Context,
    account: number | undefined,
    model: string | undefined,
  ): Promise<CachePurgeRow>
}
/** The work of `tollgate mirror`, by the plugin `mirror`. */
export interface MirrorPart {
  /** Times in ms since 1970. */
  report(host: HostBase, from: number, to: number): Promise<readonly MirrorReportRow[]>
}
interface OperatorParts {
  /** Absent where no route creates tasks. */
  tasks?: TaskPart
  /** Absent where no route creates batches. */
  batches?: BatchPart
  /** Absent without the section `alerts:`. */
  alerts?: AlertPart
  /** Absent where no model uses the cache. */
  cache?: CachePart
  /** Absent if no model has `mirror:`. */
  mirror?: MirrorPart
  /** Absent without the section `journal:`. */
  journal?: JournalPart
  /** Asks an upstream for its models with each of its keys. */
  testUpstream?(host: HostBase, name: string): Promise<readonly Fields[]>
  /** The models that an upstream lists by itself. Rejects with MODELS_UNLISTED. */
  offeredModels?(host: HostBase, upstream: string): Promise<readonly string[]>
}

const ABSENT = {
  tasks: 'ADMIN_NO_TASKS',
  batches: 'ADMIN_NO_BATCHES',
  alerts: 'ADMIN_NO_ALERTS',
  cache: 'ADMIN_NO_CACHE',
  mirror: 'ADMIN_NO_MIRROR',
  journal: 'ADMIN_NO_JOURNAL',
} as const
/** Throws a fault that says what the configuration lacks. */
export const partOf = <Name extends keyof typeof ABSENT>(
  host: HostBase,
  name: Name,
): NonNullable<OperatorParts[Name]> => {
  const part = operatorParts(host)[name]
  if (!part) throw fault(ABSENT[name])
  return part
}
/** Undefined: the configuration does not use the plugin. */
export const contribute = <Name extends keyof OperatorParts>(
  host: HostBase,
  name: Name,
  part: OperatorParts[Name],
): void => {
  const parts = operatorParts(host)
  if (part) parts[name] = part
  else delete parts[name]
}

export const operatorParts = (host: Pick<HostBase, 'share'>): OperatorParts =>
  host.share<OperatorParts>('operator/parts', '1', () => ({}))
