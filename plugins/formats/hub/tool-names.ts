/** Converts tool names to those that a target accepts: replaces characters, joins the names of
 *  groups with those of their tools, and restores both in the answer. The conversion is
 *  deterministic, so a tool has the same name in every turn. Pure. */
import { createHash } from 'node:crypto'
import type { Answer, Part } from './answer.ts'
import type { TargetCodec, ToolNameRule } from './codec.ts'
import type { Call, Content } from './content.ts'
import type { Prompt, Tool, ToolChoice, Turn } from './prompt.ts'

/** The client's name of a tool. */
type ToolName = Pick<Call, 'name' | 'namespace'>
/** The target's name -> the client's, if they differ. */
export type ClientNames = ReadonlyMap<string, ToolName>

export interface RenamedPrompt {
  readonly prompt: Prompt
  readonly clientNames: ClientNames
}

export const renameTools = (prompt: Prompt, rule: ToolNameRule): RenamedPrompt => {
  const targetNames = targetNamesOf(namesIn(prompt), rule)
  if (targetNames.size === 0) return { prompt, clientNames: new Map() }
  const rename = (name: ToolName): string => targetNames.get(keyOf(name)) ?? name.name
  const clientNames = new Map([...targetNames].map(([key, name]) => [name, nameOf(key)]))
  const { turns, tools, choice } = prompt
  const renamedPrompt = {
    ...prompt,
    turns: renameTurns(turns, rename),
    tools: renameDeclarations(tools, rename),
    ...(choice && { choice: renameChoice(choice, tools, rename) }),
  }
  return { prompt: renamedPrompt, clientNames }
}

const namesIn = ({ tools, turns }: Prompt): readonly ToolName[] => [
  ...tools.flatMap(tool => declaredName(tool) ?? []),
  ...turns.flatMap(({ content }) => content.filter(each => each.type === 'call')),
]
const declaredName = (tool: Tool): ToolName | undefined => {
  if (tool.type !== 'function' && tool.type !== 'free') return undefined
  const { name, namespace } = tool
  return { name, ...(namespace && { namespace: namespace.name }) }
}
const keyOf = ({ name, namespace }: ToolName): string => JSON.stringify([name, namespace])
const nameOf = (key: string): ToolName => {
  const [name, namespace] = JSON.parse(key) as [string, string | null]
  return { name, ...(namespace !== null && { namespace }) }
}

// ---------------------------------------------------------------- the names of the target

/** The target's names by key, if they differ. Names that share one after the replacement get a
 *  digest, except a name that needed none. */
const targetNamesOf = (
  names: readonly ToolName[],
  rule: ToolNameRule,
): ReadonlyMap<string, string> => {
  const keysByName = new Map<string, Set<string>>()
  for (const name of names) {
    const targetName = validName(name, rule)
    keysByName.set(targetName, (keysByName.get(targetName) ?? new Set()).add(keyOf(name)))
  }
  const targetNames = new Map<string, string>()
  for (const [targetName, keys] of keysByName)
    for (const key of keys) {
      if (key === keyOf({ name: targetName })) continue
      const isUnique = keys.size === 1
      targetNames.set(key, isUnique ? targetName : withDigest(targetName, key, rule))
    }
  return targetNames
}
const validName = (name: ToolName, rule: ToolNameRule): string => {
  const joinedName = joinNames(name)
  const validText = joinedName.replace(rule.invalid, '_') || '_'
  return validText.length <= rule.maxLength ? validText : withDigest(validText, joinedName, rule)
}
/** The name of a tool with that of its group. */
export const joinNames = ({ name, namespace }: ToolName): string => {
  if (namespace === undefined) return name
  return namespace.endsWith(SEPARATOR) ? namespace + name : namespace + SEPARATOR + name
}
const SEPARATOR = '__'
const withDigest = (name: string, text: string, { maxLength }: ToolNameRule): string => {
  const digest = createHash('sha256').update(text).digest('hex').slice(0, DIGEST_LENGTH)
  return `${name.slice(0, maxLength - DIGEST_LENGTH - 1)}_${digest}`
}
const DIGEST_LENGTH = 8

// ---------------------------------------------------------------- the prompt

type Rename = (name: ToolName) => string

/** The description of a group precedes that of its first tool. */
const renameDeclarations = (tools: readonly Tool[], rename: Rename): readonly Tool[] => {
  const describedGroups = new Set<string>()
  return tools.map(tool => {
    const clientName = declaredName(tool)
    if (!clientName || (tool.type !== 'function' && tool.type !== 'free')) return tool
    const { namespace, ...declaration } = tool
    const name = rename(clientName)
    if (!namespace || describedGroups.has(namespace.name)) return { ...declaration, name }
    describedGroups.add(namespace.name)
    const description = [namespace.description, tool.description].filter(Boolean).join('\n\n')
    return { ...declaration, name, ...(description !== '' && { description }) }
  })
}
/** A choice may name a tool of a group by its name alone. */
const renameChoice = (choice: ToolChoice, tools: readonly Tool[], rename: Rename): ToolChoice => {
  const declaredNames = tools.flatMap(tool => declaredName(tool) ?? [])
  const renameChosen = (name: ToolName): string =>
    rename(
      declaredNames.find(each => keyOf(each) === keyOf(name)) ??
        declaredNames.find(each => each.name === name.name || joinNames(each) === name.name) ??
        name,
    )
  if (choice.type === 'tool') {
    const { namespace: _, ...rest } = choice
    return { ...rest, name: renameChosen(choice) }
  }
  if (choice.type !== 'some') return choice
  return { ...choice, names: choice.names.map(name => renameChosen({ name })) }
}
const renameTurns = (turns: readonly Turn[], rename: Rename): readonly Turn[] => {
  const namesById = new Map<string, string>()
  const renameContent = (content: Content): Content => {
    if (content.type === 'call') {
      const { namespace: _, ...call } = content
      const name = rename(content)
      namesById.set(content.id, name)
      return { ...call, name }
    }
    if (content.type !== 'result' || content.name === undefined) return content
    return { ...content, name: namesById.get(content.id) ?? rename({ name: content.name }) }
  }
  return turns.map(turn => ({ ...turn, content: turn.content.map(renameContent) }))
}

// ---------------------------------------------------------------- the answer

/** A codec whose answers have the client's names of tools. */
export const restoreToolNames = (codec: TargetCodec, names: ClientNames): TargetCodec => {
  if (names.size === 0) return codec
  const restore = (content: Content): Content =>
    content.type === 'call' ? { ...content, ...names.get(content.name) } : content
  const restorePart = (part: Part): Part =>
    part.type === 'open' ? { ...part, content: restore(part.content) } : part
  return {
    ...codec,
    decodeAnswer: body => restoreAnswer(codec.decodeAnswer(body), restore),
    decodeStream: () => {
      const decoder = codec.decodeStream()
      return {
        push: (event, emit) => decoder.push(event, part => emit(restorePart(part))),
        close: emit => decoder.close(part => emit(restorePart(part))),
        get mayHaveEnded() {
          return decoder.mayHaveEnded === true
        },
      }
    },
  }
}
const restoreAnswer = (answer: Answer, restore: (content: Content) => Content): Answer => ({
  ...answer,
  choices: answer.choices.map(choice => ({ ...choice, content: choice.content.map(restore) })),
})
