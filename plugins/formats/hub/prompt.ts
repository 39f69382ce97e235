/** Types of the hub, part one: a request as every format decodes and encodes it. A format depends
 *  on this folder (prompt, content, answer) and never on another format. */
import type { Json } from '../../../engine/plugin.ts'
import type { Cache, Content, HostedToolName } from './content.ts'

// ---------------------------------------------------------------- the request

/** A request to a model. */
export interface Prompt {
  /** In order. System turns keep their position; a leading one becomes the system prompt in formats
   *  that have a field for it. */
  readonly turns: readonly Turn[]
  readonly tools: readonly Tool[]
  readonly choice?: ToolChoice
  readonly settings: Settings
  /** Structured output. */
  readonly form?: Form
  readonly thinking?: Thinking
  /** Cache the whole prompt; the provider chooses the breakpoints. */
  readonly cache?: Cache
  readonly stream: boolean
  /** Whether the client wants usage counts in its stream, if its format offers the choice. */
  readonly includeUsage: boolean
  /** Ids of an earlier response or conversation that the provider stores. */
  readonly previous?: { readonly answer?: string; readonly conversation?: string }
  /** Hub name of a setting -> the name that the client used, if its format has two. */
  readonly clientNames?: Readonly<Partial<Record<keyof Settings, string>>>
  /** Of an agent that the provider runs in place of a model: members that no other format has. */
  readonly agent?: { readonly [key: string]: Json }
  /** The original body, for formats whose answers echo it. */
  readonly body: { readonly [key: string]: Json }
}

/** Reports references to what a provider stores, for formats that have none. */
export const reportPrevious = (
  { previous }: Pick<Prompt, 'previous'>,
  dropped: { add(field: string): void },
): void => {
  if (previous?.answer !== undefined) dropped.add('previous_response_id')
  if (previous?.conversation !== undefined) dropped.add('conversation')
}

/** Consecutive content of one side. Tool results belong to user turns, before other content. */
export interface Turn {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: readonly Content[]
  /** The name of the participant, in conversations of several. */
  readonly name?: string
}

/** Plain settings. Each format maps them to its own names; settings that a target's map lacks are
 *  reported as dropped. */
export interface Settings {
  /** The maximum output in tokens, thoughts included. */
  readonly limit?: number
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly stops?: readonly string[]
  /** The number of answers. */
  readonly candidates?: number
  readonly seed?: number
  readonly frequencyPenalty?: number
  readonly presencePenalty?: number
  readonly bias?: Json
  /** Whether to return log probabilities of the output tokens. */
  readonly logprobs?: boolean
  /** The number of alternative tokens returned for each position. */
  readonly alternatives?: number
  /** false: at most one tool call at a time. */
  readonly parallel?: boolean
  /** An id of the end user. */
  readonly user?: string
  readonly metadata?: Json
  readonly tier?: string
  /** Whether the provider stores the answer. */
  readonly store?: boolean
  readonly background?: boolean
  readonly verbosity?: string
  readonly cacheKey?: string
  readonly cacheOptions?: Json
  readonly cacheRetention?: string
  readonly moderation?: Json
  /** The kinds of content that the answer may hold: `text`, `image`, `audio`. */
  readonly modalities?: readonly string[]
  /** Voice and format of an audio answer. */
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

/** How much the model thinks before it answers. `budget`: tokens. `adaptive`: the model decides. */
export interface Thinking {
  readonly mode: 'off' | 'effort' | 'budget' | 'adaptive'
  /** none, minimal, low, medium, high, xhigh or max. */
  readonly effort?: string
  readonly budget?: number
  /** Whether the answer shall contain thoughts or their summary; absent: the format's default. */
  readonly show?: boolean
}

// ---------------------------------------------------------------- tools

export type Tool = FunctionTool | FreeTool | HostedTool | McpServer | ForeignTool
/** A tool that the provider runs, or whose server it calls. The client runs all others. */
export const isRunByProvider = ({ type }: Tool): boolean => type !== 'function' && type !== 'free'
/** A group of the client's tools, in formats that have groups. `raw`: its declaration. */
export interface ToolNamespace {
  readonly name: string
  readonly description?: string
  readonly raw: Json
}
/** A function of the client. */
export interface FunctionTool {
  readonly type: 'function'
  readonly name: string
  readonly namespace?: ToolNamespace
  readonly description?: string
  /** The JSON schema of its arguments; absent: none or any. */
  readonly schema?: Json
  readonly strict?: boolean
  readonly cache?: Cache
  /** The declaration for the provider that defined this function; `settings`: its members that no
   *  other provider has, as paths. */
  readonly native?: {
    readonly origin: string
    readonly raw: Json
    readonly settings?: readonly string[]
  }
}
/** A tool of the client that takes free text. */
export interface FreeTool {
  readonly type: 'free'
  readonly name: string
  readonly namespace?: ToolNamespace
  readonly description?: string
  readonly grammar?: Json
  readonly cache?: Cache
}
/** A tool that the provider runs. */
export interface HostedTool {
  readonly type: 'hosted'
  readonly tool: HostedToolName
  /** The client's name for the tool, for error messages if no target has it. */
  readonly clientName: string
  /** The path in the client's request, for reports: `tools[3].web_search`. */
  readonly at?: string
  readonly domains?: { readonly allowed?: readonly string[]; readonly blocked?: readonly string[] }
  /** The user's location: `{country, city, region, timezone}`. */
  readonly location?: Json
  /** low, medium or high: how much of the search results the model reads. */
  readonly depth?: string
  readonly maxCalls?: number
  /** Ids of the file stores to search. */
  readonly stores?: readonly string[]
  readonly cache?: Cache
}
/** A server whose tools the provider calls (Model Context Protocol). */
export interface McpServer {
  readonly type: 'mcp'
  readonly name: string
  readonly url: string
  readonly authorization?: string
  /** Absent: all of the server's tools. */
  readonly allowedTools?: readonly string[]
  /** Paths of members in the client's request that only its own provider understands. */
  readonly hints: readonly string[]
  readonly cache?: Cache
  /** The declaration for its own provider. */
  readonly native: { readonly origin: string; readonly raw: Json }
}
/** A tool of one provider, which no other provider supports. */
interface ForeignTool {
  readonly type: 'foreign'
  readonly origin: string
  readonly name: string
  readonly raw: Json
  /** Of a tool that the provider runs and that other providers may leave out: its path in the
   *  client's request. */
  readonly at?: string
  /** Why no other provider supports it. */
  readonly reason?: string
}
export type ToolChoice =
  | { readonly type: 'auto' | 'none' | 'required' }
  /** `serverTool`: if `name` is that of an MCP server, the one of its tools. */
  | {
      readonly type: 'tool'
      readonly name: string
      readonly namespace?: string
      readonly serverTool?: string
    }
  | {
      readonly type: 'some'
      readonly mode: 'auto' | 'required'
      readonly names: readonly string[]
    }
