/** A short answer of each upstream format, of a text and counts of tokens. */
export const plainAnswers = (text: string, input: number, output: number) => {
  const total = input + output
  const usage = { input_tokens: input, output_tokens: output }
  return {
    'openai-chat': {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
      usage: { prompt_tokens: input, completion_tokens: output, total_tokens: total },
    },
    'openai-responses': {
      id: 'resp_1',
      object: 'response',
      created_at: 1,
      status: 'completed',
      model: 'm',
      output: [
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text, annotations: [] }],
        },
      ],
      usage: { ...usage, total_tokens: total },
    },
    'anthropic-messages': {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'text', text }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage,
    },
    'google-gemini': {
      candidates: [
        { content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP', index: 0 },
      ],
      usageMetadata: {
        promptTokenCount: input,
        candidatesTokenCount: output,
        totalTokenCount: total,
      },
    },
    'google-interactions': {
      id: 'i1',
      object: 'interaction',
      model: 'm',
      status: 'completed',
      created: '2026-01-01T00:00:00.000Z',
      updated: '2026-01-01T00:00:00.000Z',
      steps: [{ type: 'model_output', content: [{ type: 'text', text }] }],
      usage: { total_input_tokens: input, total_output_tokens: output, total_tokens: total },
    },
    'bedrock-converse': {
      output: { message: { role: 'assistant', content: [{ text }] } },
      stopReason: 'end_turn',
      usage: { inputTokens: input, outputTokens: output, totalTokens: total },
    },
  } as const
}
export const PLAIN_ANSWERS = plainAnswers('ok', 3, 2)

/** An answer in every format at once. */
export const ANSWER_OF_ALL_FORMATS = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  candidates: [{ content: { role: 'model', parts: [{ text: 'hi' }] }, finishReason: 'STOP' }],
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
  message: { role: 'assistant', content: [{ type: 'text', text: 'hi' }] },
  finish_reason: 'COMPLETE',
  output: { message: { role: 'assistant', content: [{ text: 'hi' }] } },
  stopReason: 'end_turn',
  usage: { prompt_tokens: 1, completion_tokens: 1, input_tokens: 1, output_tokens: 1 },
}
