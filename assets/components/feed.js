// The invisible half of a screen: hands each new view model to the stage of the same name.
// The last one is kept on window, because Gradio may mount this component before the stage.
function pass() {
  if (!props.value) return;
  const view = JSON.parse(props.value);
  window.sdftViews = window.sdftViews || {};
  window.sdftViews[props.channel] = view;
  window.dispatchEvent(new CustomEvent(`sdft:view:${props.channel}`, { detail: view }));
}

watch('value', pass);
pass();
