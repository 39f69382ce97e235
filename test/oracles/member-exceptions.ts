/** Members that are lost on the way to another format without a word, with the reason. The walk
 *  fails for an exception that no longer occurs. */

export interface MemberException {
  /** Of `client path -> target`. */
  readonly member: RegExp
  readonly reason: string
}
export const MEMBER_EXCEPTIONS: readonly MemberException[] = [
  // ------------------------------------------------ nothing that a target could carry
  {
    member: / (?:model|stream|stream_options\.\w+) ->/,
    reason: 'the model is the target’s, and the stream is written by the gateway',
  },
  {
    member: /^openai-\w+ (?:response_format|text\.format) ->/,
    reason: 'text is what every target answers',
  },
  {
    member: /^openai-\w+ (?:response_format\.json_schema|text\.format)\.(?:name|strict) ->/,
    reason: 'these targets have no name of a schema, and enforce every schema',
  },
  {
    member:
      /^openai-responses reasoning\.(?:generate_)?summary ->|thinking\.display ->|includeThoughts ->/,
    reason: 'chat upstreams send the thoughts that they have',
  },
  {
    member: /^openai-responses input\[\w*\]\.(?:phase|type|status|id|container_id) ->/,
    reason: 'what an item of a history was called, and how it ended: it is replayed unchanged',
  },
  {
    member: /\.(?:caller(?:\.\w+)?|async|toolset_name|tool_use_id) ->|\[server_tool_use\]\.id ->/,
    reason: 'who ran a call of a history: the call and its result are replayed',
  },
  {
    member: /^openai-responses input\[message\]\.content\[output_text\]\.(?:annotations|logprobs)/,
    reason: 'what an answer of a history said about its own text: the text is replayed',
  },
  {
    member: /^google-interactions .*\bannotations\b/,
    reason: 'what a text of a history said about itself: the text is replayed',
  },
  {
    member:
      /^google-interactions input\[\w+(?:_call\]\.id|_result\]\.(?:call_id|name|server_name)) ->/,
    reason: 'what belongs together in a history: a call and its result are replayed',
  },
  {
    member: /^google-gemini contents\[\]\.parts\[\]\.(?:toolResponse|executableCode)\.id ->/,
    reason: 'the same at generateContent',
  },
  {
    member: /^google-gemini .*fileData\.mimeType ->/,
    reason: 'the sample is the type that the extension of its URL says',
  },
  {
    member: /^google-interactions .*\.search_suggestions ->/,
    reason: 'what a client of a history was to show: the search is replayed',
  },
  {
    member: /^google-interactions response_format ->/,
    reason: 'text is what every target answers',
  },
  {
    member: /^openai-responses input\[image_generation_call\]\./,
    reason: 'how an image of a history was made: the image is replayed',
  },
  {
    member: /(?:input\[(?:reasoning|thought)\]|content\[thinking\])\.|\.thoughtSignature ->/,
    reason: 'thoughts of another provider',
  },
  {
    member: /contents\[\]\.role ->|input\[message\]\.role -> google-gemini/,
    reason: 'a turn without calls is the user’s, and so is a system turn between others',
  },
  {
    member: /includeServerSideToolInvocations ->|contents\[\]\.parts\[\]\.partMetadata ->/,
    reason: 'what Google repeats to its own client',
  },
  {
    member: /\.page_age ->|\.retrieved_at ->/,
    reason: 'when a page of a history was read: its text is replayed',
  },
  {
    member: /custom\]?\.format ->/,
    reason:
      'free text: the function in place of the tool takes it; a grammar is described in words',
  },
  // ------------------------------------------------ still to be named or carried
  {
    member:
      /^google-gemini generationConfig\.responseSchema\.(?:example|nullable|propertyOrdering)/,
    reason: 'keywords of Google’s schemas',
  },
  {
    member: /^openai-responses input\[file_search_call\]\.results\[\]\.(?:attributes|score) ->/,
    reason: 'how well a text fitted that a file search of a history found: the text is replayed',
  },
  {
    member: /^openai-responses input\[function_call_output\]\.(?:name|namespace) ->/,
    reason: 'the names are those of the call',
  },
  {
    member: /^openai-responses input\[\w+\]\.\w+\[input_file\]\.(?:detail|file_id|file_url) ->/,
    reason: 'a file has its content: its other addresses and its detail are not needed',
  },
  {
    member: /^openai-responses tool_choice\.name ->/,
    reason: 'one of several forms of a choice has a name',
  },
  {
    member: /^(?:openai-responses|anthropic-messages) tools\[\]\.(?:type|user_location\.type) ->/,
    reason: 'the names of one tool in several versions',
  },
  {
    member: /^openai-responses tools\[namespace\]\.tools\[function\]\.defer_loading ->/,
    reason: 'a function of a group is offered at once where no tool searches for it',
  },
  {
    member: /^anthropic-messages messages.*\.cache_control ->/,
    reason: 'hints about caching at calls and results of hosted tools',
  },
  {
    member:
      /^anthropic-messages messages.*code_execution_(?:tool_result|output)\]\.(?:content\.)?(?:content|file_id|return_code|error_message) ->/,
    reason: 'files and codes of a program that the provider ran',
  },
  {
    member: /^anthropic-messages messages.*\[image\]\.transformations\.oversized_image ->/,
    reason: 'what the provider does with a large image',
  },
  {
    member: /^anthropic-messages messages.*\[search_result\]\.source ->/,
    reason: 'it is named, as the context of a document',
  },
]
