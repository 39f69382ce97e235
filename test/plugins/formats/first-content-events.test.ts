/** Which events of a stream choose its target: the first content in formats whose streams the
 *  journeys of first content do not run, and contents other than a text in those that they do. */
import t from 'tap'
import { formats, targetFormats } from '../../../plugins/formats/index.ts'

type Event = { readonly [name: string]: unknown }
/** By format: events that wait, and events that are content. */
const EVENTS: Readonly<
  Record<string, readonly [waits: readonly Event[], content: readonly Event[]]>
> = {
  'openai-images': [
    [
      { type: 'keepalive' },
      { type: 'image_generation.started' },
      { type: 'image_generation.started', task_id: 'abc', trace_id: 'x' },
      { type: 'image_generation.completed', finish_reason: 'content_filter', seed: '1' },
      { type: 'image_generation.partial_image', b64_json: '' },
      {
        type: 'image_generation.completed',
        usage: { output_tokens: 5 },
        size: '1024x1024',
        quality: 'high',
        background: 'opaque',
        output_format: 'png',
        created_at: 1,
      },
      { created: 1, model: 'm', data: [{ revised_prompt: 'a cat' }, { url: '' }] },
      { type: 'image_generation.partial_failed', image_index: 0, error: { message: 'no' } },
    ],
    [
      { type: 'image_generation.partial_image', b64_json: 'AAAA', partial_image_index: 0 },
      { type: 'image_edit.completed', b64_json: 'AAAA' },
      { type: 'image_generation.partial_succeeded', url: 'https://files.example/1.png' },
      { created: 1, data: [{ b64_json: 'AAAA' }] },
      { type: 'image_generation.completed', image: 'AAAA' },
      { type: 'image_generation.completed', image_url: { url: 'https://files.example/1.png' } },
      { type: 'image_generation.completed', result: ['AAAA'] },
    ],
  ],
  'openai-speech': [
    [
      { type: 'speech.audio.delta', audio: '' },
      { type: 'speech.audio.done', usage: { input_tokens: 4, output_tokens: 0 } },
    ],
    [{ type: 'speech.audio.delta', audio: 'AAAA' }],
  ],
  'openai-transcription': [
    [{ type: 'transcript.text.delta', delta: '' }],
    [
      { type: 'transcript.text.delta', delta: 'Rome' },
      { type: 'transcript.text.segment', text: 'Rome' },
      { type: 'transcript.text.done', text: '' },
    ],
  ],
  'openai-completions': [
    [
      { choices: [] },
      { choices: [{ index: 0, text: '', finish_reason: null }] },
      { choices: [{ index: 0, text: '', finish_reason: 'error' }] },
    ],
    [
      { choices: [{ index: 0, text: 'Rome' }] },
      { choices: [{ index: 0, text: '', finish_reason: 'stop' }] },
    ],
  ],
  'google-interactions': [
    [
      { event_type: 'interaction.created', interaction: { model: 'm', status: 'in_progress' } },
      { event_type: 'interaction.status_update', status: 'in_progress' },
      { event_type: 'step.start', step: { type: 'model_output' } },
      { event_type: 'step.delta', delta: { type: 'text', text: '' } },
    ],
    [
      { event_type: 'step.delta', delta: { type: 'text', text: 'Rome' } },
      { event_type: 'step.delta', delta: { type: 'arguments_delta', arguments: '{}' } },
      { event_type: 'step.delta', delta: { type: 'thought_summary', content: { text: 'Hm' } } },
    ],
  ],
  'openai-chat': [
    [
      { choices: [{ delta: { role: 'assistant', content: '', refusal: null } }] },
      { choices: [{ delta: { reasoning: '', reasoning_details: [], annotations: [] } }] },
    ],
    [
      { choices: [{ delta: { refusal: 'I cannot' } }] },
      { choices: [{ delta: { reasoning_content: 'Hm' } }] },
      { choices: [{ delta: { tool_calls: [{ index: 0, function: { name: 'f' } }] } }] },
      { choices: [{ delta: { images: [{ image_url: { url: 'data:,' } }] } }] },
      { choices: [{ delta: {}, finish_reason: 'content_filter' }] },
    ],
  ],
  'openai-responses': [
    [
      { type: 'response.output_text.done', text: '' },
      { type: 'response.reasoning_summary_part.added', part: { type: 'summary_text', text: '' } },
      { type: 'response.output_item.added', item: { type: 'reasoning', id: 'r', summary: [] } },
    ],
    [
      { type: 'response.refusal.delta', delta: 'I cannot' },
      { type: 'response.reasoning_summary_text.delta', delta: 'Hm' },
      { type: 'response.output_item.added', item: { type: 'function_call', name: 'f' } },
      { type: 'response.output_text.done', text: 'Rome' },
      { type: 'response.function_call_arguments.done', arguments: '{}' },
      { type: 'response.image_generation_call.partial_image', partial_image_b64: 'AAAA' },
      { type: 'response.incomplete', response: { status: 'incomplete', output: [] } },
    ],
  ],
  'anthropic-messages': [
    [
      { type: 'content_block_start', content_block: { type: 'compaction', content: null } },
      { type: 'content_block_start', content_block: { type: 'thinking', thinking: '' } },
      { type: 'message_delta', delta: { stop_reason: null } },
    ],
    [
      { type: 'content_block_start', content_block: { type: 'tool_use', id: 't', name: 'f' } },
      { type: 'content_block_start', content_block: { type: 'redacted_thinking', data: 'AA' } },
      { type: 'content_block_delta', delta: { type: 'compaction_delta', content: 'So far' } },
      { type: 'content_block_delta', delta: { type: 'signature_delta', signature: 'AA' } },
      { type: 'message_delta', delta: { stop_reason: 'refusal' } },
    ],
  ],
  'google-gemini': [
    [
      { usageMetadata: { promptTokenCount: 5 } },
      { candidates: [{ content: { role: 'model', parts: [{ text: '', thought: true }] } }] },
    ],
    [
      { candidates: [{ content: { parts: [{ text: 'Hm', thought: true }] } }] },
      { candidates: [{ content: { parts: [{ functionCall: { name: 'f' } }] } }] },
      { candidates: [{ content: { parts: [{ inlineData: { data: 'AA' } }] } }] },
      { candidates: [{ finishReason: 'SAFETY' }] },
      { promptFeedback: { blockReason: 'SAFETY' } },
    ],
  ],
  'cohere-chat': [
    [
      { type: 'message-start', delta: { message: { role: 'assistant', content: [] } } },
      { type: 'content-start', delta: { message: { content: { type: 'text', text: '' } } } },
      {
        type: 'content-start',
        delta: { message: { content: { type: 'thinking', thinking: '' } } },
      },
    ],
    [
      { type: 'content-delta', delta: { message: { content: { thinking: 'Hm' } } } },
      { type: 'tool-plan-delta', delta: { message: { tool_plan: 'First' } } },
      { type: 'tool-call-start', delta: { message: { tool_calls: { id: 't' } } } },
    ],
  ],
}

for (const [name, [waits, content]] of Object.entries(EVENTS))
  t.test(`first content of ${name}: events that wait and that are content`, async t => {
    const { stream } = formats.get(name) ?? targetFormats.get(name) ?? {}
    const isContent = (event: Event) =>
      stream?.carriesContent?.({ name: '', data: JSON.stringify(event), start: 0, end: 0 })
    for (const event of waits) t.equal(isContent(event), false, JSON.stringify(event))
    for (const event of content) t.equal(isContent(event), true, JSON.stringify(event))
  })
