/** The hub, first part: a request as every wire format is read into it and written from it. Types only. A format knows
 *  these three files (hub, content, answer) and never another format. */
import type { Json } from '../../engine/plugin.ts'
import type { Cache, Content, HostedName } from './content.ts'

// ---------------------------------------------------------------- what is asked

/** A request to a model. */
export interface Prompt {
  /** In their order. System turns keep their place; one at the start is the system prompt of formats that have a field for it. */
  readonly turns: readonly Turn[]
  readonly tools: readonly Tool[]
  readonly choice?: ToolChoice
  readonly settings: Settings
  /** Structured output. */
  readonly form?: Form
  readonly thinking?: Thinking
  /** The whole of it is to be cached, wherever its provider sees fit to cut. */
  readonly cache?: Cache
  readonly stream: boolean
  /** Whether the client wants counts in its stream, where its format lets it choose. */
  readonly counts: boolean
  /** What was said before, kept by whoever answered it. */
  readonly before?: { readonly answer?: string; readonly conversation?: string }
  /** Hub name of a setting -> the name its client gave it, where its format has two. */
  readonly called?: Readonly<Partial<Record<keyof Settings, string>>>
  /** The body as it came, for formats whose answers echo it. */
  readonly body: { readonly [key: string]: Json }
}

/** What one side says in a row. Results of tools stand in user turns, before anything else. */
export interface Turn {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: readonly Content[]
  /** Who of several is speaking. */
  readonly name?: string
}

/** Plain settings. Each format has a table of its own names for them: what is not in a target's table is lost, and said. */
export interface Settings {
  /** Tokens that may be written, thoughts included. */
  readonly limit?: number
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly stops?: readonly string[]
  /** How many answers. */
  readonly candidates?: number
  readonly seed?: number
  readonly frequencyPenalty?: number
  readonly presencePenalty?: number
  readonly bias?: Json
  /** Of what was written. */
  readonly logprobs?: boolean
  /** How many other tokens are told beside each. */
  readonly alternatives?: number
  /** false: one call of a tool at a time. */
  readonly parallel?: boolean
  /** Of the end user. */
  readonly user?: string
  readonly metadata?: Json
  readonly tier?: string
  /** Whether the answer is kept by whoever gives it. */
  readonly store?: boolean
  readonly background?: boolean
  readonly verbosity?: string
  readonly cacheKey?: string
  /** `text`, `image`, `audio`: what the answer may hold. */
  readonly modalities?: readonly string[]
  /** Of a spoken answer: voice and format. */
  readonly audio?: Json
  readonly safety?: Json
}

export type Form =
  | { readonly type: 'json' }
  | {
      readonly type: 'schema'
      readonly schema: Json
      readonly name?: string
      readonly description?: string
      readonly strict?: boolean
    }

/** How much is thought before the answer. `budget`: tokens. `adaptive`: as the model sees fit. */
export interface Thinking {
  readonly mode: 'off' | 'effort' | 'budget' | 'adaptive'
  /** none, minimal, low, medium, high, xhigh or max. */
  readonly effort?: string
  readonly budget?: number
  /** Whether thoughts, or a summary of them, are wanted in the answer; absent: as the format is used to. */
  readonly show?: boolean
}

// ---------------------------------------------------------------- tools

export type Tool = FunctionTool | FreeTool | HostedTool | ForeignTool
/** The client's own. */
export interface FunctionTool {
  readonly type: 'function'
  readonly name: string
  readonly description?: string
  /** Of its arguments; absent: it takes none, or anything. */
  readonly schema?: Json
  readonly strict?: boolean
  readonly cache?: Cache
}
/** The client's own, called with free text. */
export interface FreeTool {
  readonly type: 'free'
  readonly name: string
  readonly description?: string
  readonly grammar?: Json
}
/** Run by whoever answers. */
export interface HostedTool {
  readonly type: 'hosted'
  readonly tool: HostedName
  /** As the client called it: where no target has it, the refusal names it so. */
  readonly asked: string
  readonly domains?: { readonly allowed?: readonly string[]; readonly blocked?: readonly string[] }
  /** Where the user is: `{country, city, region, timezone}`. */
  readonly place?: Json
  /** low, medium or high: how much of what was found is read. */
  readonly depth?: string
  readonly maxCalls?: number
  /** Stores of files that are searched. */
  readonly stores?: readonly string[]
  readonly cache?: Cache
}
/** A tool that only its own provider knows. */
interface ForeignTool {
  readonly type: 'foreign'
  readonly origin: string
  readonly name: string
  readonly raw: Json
}
export type ToolChoice =
  | { readonly type: 'auto' | 'none' | 'required' }
  | { readonly type: 'tool'; readonly name: string }
  | {
      readonly type: 'some'
      readonly mode: 'auto' | 'required'
      readonly names: readonly string[]
    }
