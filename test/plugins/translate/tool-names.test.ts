/** Generated tool names: those sent to a target are valid, distinct and the same in every turn, and
 *  an answer has the client's again. */
import t from 'tap'
import type { Prompt, Tool } from '../../../plugins/formats/hub/prompt.ts'
import { renameTools, restoreToolNames } from '../../../plugins/formats/hub/tool-names.ts'
import { codecOf, PROMPT } from '../../helpers/formats/codec.ts'
import fc from '../../helpers/property.ts'
import { shortOrLong } from '../../helpers/run-settings.ts'

/** The names that each provider documents as valid. */
const VALID: Readonly<Record<string, RegExp>> = {
  'openai-chat': /^[A-Za-z0-9_-]{1,64}$/,
  'openai-responses': /^[A-Za-z0-9_-]{1,64}$/,
  'anthropic-messages': /^[A-Za-z0-9_-]{1,128}$/,
  'google-gemini': /^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/,
}

const name = fc.oneof(
  fc.constantFrom('a.b', 'a_b', 'a/b', 'n__f', 'f', '1', '', 'größe', 'x'.repeat(200), '…'),
  fc.string({ maxLength: 12 }),
)
const tool = fc
  .record({ name, group: fc.option(fc.constantFrom('n', 'a', 'n__', '.')), isFree: fc.boolean() })
  .map(
    ({ name, group, isFree }): Tool => ({
      type: isFree ? 'free' : 'function',
      name,
      ...(group !== null && { namespace: { name: group, raw: {} } }),
    }),
  )
const tools = fc.uniqueArray(tool, {
  selector: each => JSON.stringify([Object(each).name, Object(each).namespace?.name]),
  maxLength: 8,
})

const promptOf = (tools: readonly Tool[]): Prompt => ({
  ...PROMPT,
  tools,
  turns: [
    {
      role: 'assistant',
      content: tools.flatMap((tool, index) => {
        const { name, namespace } = Object(tool)
        return [
          {
            type: 'call',
            id: `${index}`,
            name,
            input: '{}',
            ...(namespace && { namespace: namespace.name }),
          } as const,
        ]
      }),
    },
  ],
})

for (const [format, valid] of Object.entries(VALID))
  t.test(`tool names: generated names are valid for ${format} and restored (edge 34)`, t => {
    const codec = codecOf(format)
    if (!codec.tools) throw new Error(`${format} has no tools`)
    const { names } = codec.tools
    const property = fc.property(tools, clientTools => {
      const prompt = promptOf(clientTools)
      const { prompt: renamedPrompt, clientNames } = renameTools(prompt, names)
      const sentNames = renamedPrompt.tools.map(each => String(Object(each).name))
      for (const [index, each] of renamedPrompt.tools.entries()) {
        const prefix =
          each.type === 'free' && /anthropic|gemini/.test(format) ? 'tollgate_text_' : ''
        if (!valid.test(prefix + sentNames[index])) throw new Error(`invalid: ${sentNames[index]}`)
      }
      if (new Set(sentNames).size < sentNames.length) throw new Error(`twice: ${sentNames}`)
      t.strictSame(
        renamedPrompt.turns[0]?.content.map(each => Object(each).name),
        sentNames,
      )
      // Another order of the tools, as in another turn.
      const again = renameTools(promptOf(clientTools.toReversed()), names).prompt.tools
      t.strictSame(again.map(each => Object(each).name).toReversed(), sentNames)
      const decodeAnswer = () => ({
        choices: [
          { content: renamedPrompt.turns[0]?.content ?? [], stop: { reason: 'call' as const } },
        ],
      })
      const restored = restoreToolNames({ ...codec, decodeAnswer }, clientNames).decodeAnswer({})
      t.strictSame(restored.choices[0]?.content, prompt.turns[0]?.content)
    })
    const numRuns = shortOrLong(100, 5_000)
    t.doesNotThrow(() => fc.assert(property, { numRuns }), `${numRuns} lists of tools`)
    t.end()
  })
